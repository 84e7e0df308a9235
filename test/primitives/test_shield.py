"""The shield is exact: every machine state × place × action, against a search of its own."""

import numpy as np
import pytest

from skm_machine import Status, compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.evaluation.random_missions import random_missions
from skm_primitives.known.map_domains import make_map_domain
from skm_primitives.mission_run import MissionRun
from skm_primitives.planning.shield import make_shield
from skm_sim import get_domain
from skm_sim.maps.map_folder import EXAMPLE_MAP, EXAMPLE_PLACES
from skm_sim.tabular import tabular_model

COUNT = 50


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps") / "hall"
    return make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, folder, cell=0.5, picture=False).folder


def drawn_missions(spec, model):
    drawn = random_missions(
        model.label_sets, spec.propositions, spec.constraints, COUNT - 5, 7, lambda _: True
    )
    names = [name for name in spec.propositions if name not in spec.constraints]
    a, b, c = names[0], names[1], spec.constraints[0]
    more = (
        f"F[0,12] {a} & G !{c}",
        f"G(!{a} | X !{b})",
        f"({a} R !{b}) & F {b}",
        f"G F {a} & G F {b} & G !{c}",
        f"F {c} & G(!{c} | X {c})",
    )
    texts = [compile_mission(text, propositions=spec.propositions) for text in more]
    return [*drawn, *texts]


def survivable(model, machine):
    """Return `[u, state, action]`: whether some continuation of the action never fails.

    The greatest set of product states that has a way to stay in it, or to success: found by throwing
    states out one sweep after the other.
    """
    u_after = np.array(
        [
            [machine.step(u, labels).target for labels in model.label_sets]
            for u in range(machine.num_states)
        ]
    )[:, model.label_ids[model.transitions]]
    failed = np.array([u in machine.failure for u in range(machine.num_states)])
    done = np.array(
        [u in machine.terminal and u not in machine.failure for u in range(machine.num_states)]
    )
    alive = np.repeat(~failed[:, None], model.num_states, axis=1)
    while True:
        onward = done[u_after] | (~failed[u_after] & alive[u_after, model.transitions])
        smaller = alive & (onward.any(axis=2) | done[:, None])
        if np.array_equal(smaller, alive):
            return onward
        alive = smaller


def places_of_states(model, shield):
    """Lead the shield to every state of the world, along some way; yield it there."""
    known = {}
    for cell, state in enumerate(model.start_states.tolist()):
        shield.start(cell)
        known[state] = shield._place, shield._counter
    queue = list(known)
    for state in queue:
        for after in model.transitions[state].tolist():
            if after not in known:
                shield._place, shield._counter = known[state]
                shield.entered(int(model.cells[after]))
                known[after] = shield._place, shield._counter
                queue.append(after)
    return known


@pytest.mark.parametrize("name", ["office", "hall"])
def test_no_action_that_passes_leads_into_a_failure_that_another_avoids(name, hall):
    spec = get_domain(str(hall) if name == "hall" else name)
    model, skills = tabular_model(spec), load_primitives(spec)
    checked = vetoed = deeper = 0
    missions = drawn_missions(spec, model)
    assert len(missions) == COUNT
    for mission in missions:
        machine = mission.machine
        shield = make_shield(mission, skills)
        exact = survivable(model, machine)
        known = places_of_states(model, shield)
        states = np.array(list(known))
        place, counter = np.array(list(known.values())).T
        live = [u for u in range(machine.num_states) if u not in machine.terminal | machine.failure]
        for u in live:
            passed = ~shield.lost[u][shield._successors[place], counter[:, None]]
            assert np.array_equal(passed, exact[u, states])
            checked += passed.size
            vetoed += int((~passed).sum())
            at_once = np.array(
                [machine.step(u, labels).target in machine.failure for labels in model.label_sets]
            )
            deeper += int((~passed & ~at_once[model.label_ids[model.transitions[states]]]).sum())
    assert checked > 100_000
    assert vetoed > 1000
    assert deeper > 0  # not only what fails at once


def test_a_lost_action_is_replaced_by_the_best_that_is_not():
    """The paper's planner walks over the mail on its way to A; with the shield it does not."""
    spec = get_domain("office")
    skills = load_primitives(spec)
    mission = compile_mission("F A & G !mail", propositions=spec.propositions)
    policy = make_policy(mission, skills, "paper")
    env = spec.make()
    start = {"start": (7, 10)}
    bare = run_episode(env, skills, policy, max_steps=300, options=start)
    shield = make_shield(mission, skills)
    shielded = run_episode(env, skills, policy, max_steps=300, options=start, shield=shield)
    assert bare.status is Status.FAILED
    assert shielded.status is not Status.FAILED
    assert shield.replaced > 0


def test_where_all_is_lost_the_robot_stops():
    """Twelve steps are too few for coffee from far away: the shield lets nothing pass."""
    spec = get_domain("office")
    skills = load_primitives(spec)
    mission = compile_mission("F[0,3] coffee", propositions=spec.propositions)
    policy, shield = make_policy(mission, skills, "paper"), make_shield(mission, skills)
    run = MissionRun(policy, skills, 100, shield)
    cell = spec.make().unwrapped.model.grid.cell_at((11, 2))
    run.begin(cell, frozenset())
    run.decide(skills.values(cell, run.history))
    assert run.blocked
    assert run.over
    episode = run_episode(
        spec.make(), skills, policy, max_steps=100, options={"cell": cell}, shield=shield
    )
    assert (episode.steps, episode.outcome) == (0, "no progress")


def test_the_optimal_planner_needs_no_shield(hall):
    spec = get_domain(str(hall))
    skills = load_primitives(spec)
    mission = compile_mission(spec.demo_task.formula, propositions=spec.propositions)
    policy, shield = make_policy(mission, skills), make_shield(mission, skills)
    episode = run_episode(spec.make(), skills, policy, max_steps=500, seed=1, shield=shield)
    assert (episode.outcome, shield.replaced) == ("accepted", 0)
