"""The environment of the example, without the library that learns in it."""

import warnings

from gymnasium.utils.env_checker import check_env
from mission_env import MISSION, make, success

LEFT, DOWN, RIGHT, UP = range(4)


def test_it_is_an_environment_in_which_the_way_there_and_back_is_rewarded_once():
    env = make()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*spec")
        check_env(env, skip_render_check=True)
    env.reset(seed=0)
    way = [env.step(action) for action in (DOWN, DOWN, RIGHT, LEFT, UP, UP)]
    assert [reward for _, reward, *_ in way] == [0, 0, 0, 0, 0, 1]
    assert [over for _, _, over, *_ in way] == [False] * 5 + [True]
    assert way[-1][-1]["is_success"]
    env.reset(seed=0)
    env.step(RIGHT)
    *_, over, _, info = env.step(RIGHT)
    assert over, f"the pier is the end of {MISSION}"
    assert not info["is_success"]


def test_a_policy_over_cells_and_machine_states_is_measured():
    env = make()
    states = env.mission.machine.num_states
    after = env.mission.machine.step(env.mission.machine.initial, {"tree"}).target
    there, back = {0: DOWN, 4: DOWN, 8: RIGHT}, {9: LEFT, 8: UP, 4: UP}

    def policy(seen):
        cell, state = divmod(int(seen), states)
        return (back if state == after else there)[cell]

    assert success(env, policy, episodes=3) == 1.0
    assert success(env, lambda seen: LEFT, episodes=3) == 0.0
