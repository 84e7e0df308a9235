"""The checker passes good domains and tells what is missing in deliberately broken ones."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from skm_sim import DomainError, DomainSpec, label_env
from skm_sim.checker import check_domain
from skm_sim.faults import made
from skm_sim.tabular import TabularModel, TabularVectorEnv


class Kitchen(gymnasium.Env):
    """A corridor of five cells with a cup at its end: a small domain with nothing wrong."""

    metadata = {"render_modes": []}  # noqa: RUF012
    propositions = ("cup", "stain")
    constraints = ("stain",)

    def __init__(self):
        self.observation_space = Discrete(5)
        self.action_space = Discrete(2)
        self.cell = 0

    def labels(self):
        return frozenset({4: {"cup"}, 1: {"stain"}}.get(self.cell, set()))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(5))
        return self.cell, {"labels": self.labels()}

    def step(self, action):
        self.cell = int(np.clip(self.cell + 2 * action - 1, 0, 4))
        return self.cell, 0.0, False, False, {"labels": self.labels()}


def corridor_model():
    cells = np.arange(5)
    moves = np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, 4)], axis=1)
    labels = np.stack([cells == 4, cells == 1], axis=1)
    return TabularModel(("cup", "stain"), ("stain",), moves, cells, labels, cells.copy())


class KitchenBatch(TabularVectorEnv):
    def __init__(self, num_envs=1, max_episode_steps=None):
        super().__init__(corridor_model(), num_envs, max_episode_steps)


@pytest.fixture
def registered():
    """Register kitchens for a test and forget them afterwards."""
    ids = []

    def register(env, batch=None, **options):
        ids.append(f"test/Kitchen{len(ids)}-v0")
        gymnasium.register(ids[-1], entry_point=env, vector_entry_point=batch, **options)
        return ids[-1]

    yield register
    for env_id in ids:
        del gymnasium.registry[env_id]


def kitchen_spec(env_id, **changes):
    fields = {"propositions": Kitchen.propositions, "constraints": Kitchen.constraints} | changes
    return DomainSpec("kitchen", env_id, gamma=0.9, primitive_steps=9, tasks={}, **fields)


@pytest.mark.parametrize(
    "name", ["office", "office_absorbing", "skm/Office-v0", "skm/OfficeAbsorbing-v0"]
)
def test_the_domains_that_come_with_skm_are_without_fault(name):
    assert check_domain(name) == []


def test_a_good_domain_passes_as_an_object_as_an_id_as_a_spec_and_as_a_batch(registered):
    env_id = registered(Kitchen, KitchenBatch, max_episode_steps=50)
    assert check_domain(Kitchen()) == []
    assert check_domain(gymnasium.make(env_id)) == []
    assert check_domain(env_id) == []
    assert check_domain(kitchen_spec(env_id)) == []


def test_an_id_that_nobody_registered_is_told_apart():
    (problem,) = check_domain("nobody/Nothing-v0")
    assert "does not know" in problem
    assert "gymnasium.register" in problem


def broken(**members):
    return type("BrokenKitchen", (Kitchen,), members)()


def with_labels(change):
    """Return a kitchen whose info["labels"] is what `change` makes of (environment, labels)."""

    class Changed(Kitchen):
        def reset(self, *, seed=None, options=None):
            observation, info = super().reset(seed=seed)
            return observation, change(self, info, "reset")

        def step(self, action):
            *result, info = super().step(action)
            return *result, change(self, info, "step")

    return Changed()


ATTRIBUTES = [
    ({"propositions": None}, "attribute 'propositions', a tuple of names"),
    ({"propositions": "cup"}, "attribute 'propositions', a tuple of names"),
    ({"constraints": None}, "attribute 'constraints'"),
    ({"propositions": ("cup", "cup", "stain")}, "cup more than once"),
    ({"propositions": ("cup", "stain", "my cup")}, "'my cup' cannot be written"),
    ({"propositions": ("cup", "stain", "U")}, "'U' is an operator"),
    ({"constraints": ("fire",)}, "Constraints names fire, not among the propositions"),
    ({"labels": None}, "a method labels()"),
]


@pytest.mark.parametrize(("members", "message"), ATTRIBUTES)
def test_names_and_labels_that_are_missing_or_wrong(members, message):
    (problem,) = check_domain(broken(**members))
    assert message in problem


LABELS = [
    (lambda env, info, when: {}, "Put the labels of the state into info['labels'] of reset()"),
    (
        lambda env, info, when: info if when == "reset" else {},
        "Put the labels of the state into info['labels'] of step()",
    ),
    (lambda env, info, when: {"labels": set(info["labels"])}, "info['labels'] of reset() a froze"),
    (lambda env, info, when: {"labels": frozenset({"fire"})}, "has fire: add to propositions"),
    (
        lambda env, info, when: info if when == "reset" else {"labels": frozenset({"cup"})},
        "After step(), info['labels'] is ['cup'] and labels() is",
    ),
]


@pytest.mark.parametrize(("change", "message"), LABELS)
def test_labels_in_info_that_are_missing_or_wrong(change, message):
    assert any(message in problem for problem in check_domain(with_labels(change)))


def test_labels_that_are_no_set():
    problems = check_domain(broken(labels=lambda self: ["cup"] if self.cell == 4 else []))
    assert any("info['labels'] of reset() a frozenset" in problem for problem in problems)


def test_chance_that_the_seed_does_not_decide():
    class Restless(Kitchen):
        chance = np.random.default_rng(0)

        def step(self, action):
            return super().step(self.chance.integers(2))

    findings = check_domain(Restless())
    assert findings == []  # it can be learned
    strays, stochastic = findings.notes[-2:]
    assert re.search(r"same actions differ from step \d+ on: observation", strays)
    assert "stochastic" in stochastic


def test_memory_that_leaks_into_the_next_episode():
    class Leaky(Kitchen):
        cups = 30

        def labels(self):
            return super().labels() if self.cups > 0 else frozenset()

        def step(self, action):
            self.cups -= self.cell == 4
            return super().step(action)

    findings = check_domain(Leaky())
    assert findings == []
    assert any("on: info['labels']. It can be learned" in note for note in findings.notes)


def test_info_that_differs_and_is_not_used():
    """As highway-env's parking, whose reset tells an action that was drawn by nobody's seed."""

    class Talkative(Kitchen):
        chance = np.random.default_rng(0)

        def reset(self, *, seed=None, options=None):
            cell, info = super().reset(seed=seed)
            return cell, {**info, "action": self.chance.random(2), "speed": {"x": 1.0}}

    findings = check_domain(Talkative())
    assert findings == []
    assert any("info['action'] of reset differs; skm does not use" in n for n in findings.notes)
    assert not any("speed" in note for note in findings.notes)


def test_observations_outside_their_space_or_not_a_number():
    class Outside(Kitchen):
        def step(self, action):
            _, *rest = super().step(action)
            return 7, *rest

    problems = check_domain(Outside())
    assert any("of step 1 is 7, which is not in Discrete(5)" in text for text in problems)

    class Nan(Kitchen):
        def __init__(self):
            super().__init__()
            self.observation_space = Box(0, 5, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            cell, info = super().reset(seed=seed)
            return np.array([cell], np.float32), info

        def step(self, action):
            cell, *rest = super().step(action)
            return np.array([np.nan if cell == 4 else cell], np.float32), *rest

    assert any("not-a-number" in problem for problem in check_domain(Nan()))


class Measured(Kitchen):
    """Observes its cell as a vector, in a box that is too small for the last one, of another type."""

    def __init__(self):
        super().__init__()
        self.observation_space = Dict(
            {"cell": Box(0, 3, (1,), np.float32), "no": Discrete(2, start=1)}
        )
        self.action_space = MultiDiscrete([2, 3])
        self.seen = np.zeros(1)

    def _seen(self, cell):
        self.seen[:] = cell  # reused from step to step
        return {"cell": self.seen, "no": 1}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 3
        return self._seen(3), {}

    def step(self, action):
        cell, _, _, truncated, info = super().step(action[0])
        return self._seen(cell), 0.0, cell == 4, truncated, info


def test_matters_of_form_are_notes_with_their_place_and_are_mended_by_label_env():
    predicates = {"cup": lambda seen, info, env: seen["cell"][0] == 4}
    env = label_env(Measured(), predicates, observation_key="cell")
    findings = check_domain(env)
    assert findings == []
    assert any("bservation['cell'] of reset has the type float64" in n for n in findings.notes)
    outside = "(the last of its episode) is outside its bounds: [0] is 4.0, not 0.0..3.0"
    assert any(outside in note for note in findings.notes)
    observation, _ = env.reset(seed=1)
    kept = observation.copy()
    assert observation.dtype == np.float32
    env.step(env.action_space.sample())
    assert np.array_equal(observation, kept)  # a copy: the environment reuses its own


def test_an_environment_of_several_agents_is_told_what_is_possible():
    class Pair:  # as PettingZoo's ParallelEnv
        possible_agents = ("a", "b")
        observation_spaces = action_spaces = {"a": Discrete(2), "b": Discrete(2)}  # noqa: RUF012

    (problem,) = check_domain(Pair())
    assert "PettingZoo" in problem
    with pytest.raises(DomainError, match="Gymnasium environment of one of its agents"):
        label_env(Pair(), {})


def test_why_an_environment_cannot_be_made_is_shown_with_its_line(registered):
    class Bare(Kitchen):
        def __init__(self):
            joint = 7
            assert joint in (1, 2)

    env_id = registered(Bare)
    with pytest.raises(DomainError) as raised:
        made(env_id)
    for told in (check_domain(env_id)[0], str(raised.value)):
        assert "AssertionError" in told
        assert " at sim/test_checker.py:" in told
        assert "`assert joint in (1, 2)`" in told
        assert f"numpy {np.__version__}" in told
        assert "gymnasium.register" not in told


def test_a_clock_inside_the_environment():
    class Clock(Kitchen):
        ends = "terminated"

        def reset(self, *, seed=None, options=None):
            self.time = 0
            return super().reset(seed=seed)

        def step(self, action):
            observation, reward, _, _, info = super().step(action)
            self.time += 1
            late = self.time >= 20
            return observation, reward, self._is(late, "terminated"), self._is(late, "trunc"), info

        def _is(self, late, kind):
            return late and kind == self.ends

    findings = check_domain(Clock())
    assert findings == []
    assert any("as if by a clock" in note for note in findings.notes)
    clock = Clock()
    clock.ends = "trunc"
    assert check_domain(clock) == []  # a time limit is no end of the world


def test_a_world_that_really_ends_is_fine():
    class Ending(Kitchen):
        def step(self, action):
            observation, reward, _, truncated, info = super().step(action)
            return observation, reward, self.cell == 4, truncated, info

    assert check_domain(Ending()) == []


def test_what_gymnasium_itself_finds_is_passed_on():
    class NoSeed(Kitchen):
        def reset(self, *, seed=None, options=None):
            self.cell = 0
            return self.cell, {"labels": self.labels()}

    assert check_domain(NoSeed()) == []
    assert any("check_env" in n and "super().reset" in n for n in check_domain(NoSeed()).notes)

    class Chatty(Kitchen):
        def step(self, action):
            observation, _, *rest = super().step(action)
            return observation, float("nan"), *rest

    assert check_domain(Chatty()) == []
    assert any("check_env warns of" in note for note in check_domain(Chatty()).notes)


def test_a_step_that_fails_is_reported_and_not_raised():
    class Fragile(Kitchen):
        def step(self, action):
            if self.cell == 4:
                raise RuntimeError("the cup broke")
            return super().step(action)

    assert any("the cup broke" in problem for problem in check_domain(Fragile()))


def test_a_spec_that_names_other_things_than_its_environment(registered):
    spec = kitchen_spec(registered(Kitchen), propositions=("stain", "cup"))
    (problem,) = check_domain(spec)
    assert "disagree on propositions" in problem


class OtherStart(KitchenBatch):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options={"cell": 0})


class LateLabels(KitchenBatch):
    def step(self, actions):
        before = self.labels()
        *result, _ = super().step(actions)
        return *result, {"labels": before}


class ForgetsToRestart(KitchenBatch):
    def step(self, actions):
        self._ended[:] = False
        return super().step(actions)


class NumberLabels(KitchenBatch):
    def labels(self):
        return super().labels().astype(np.float32)


class NoMode(KitchenBatch):
    metadata = {"render_modes": [], "autoreset_mode": "sometimes"}  # noqa: RUF012


class NoLimit(KitchenBatch):
    def __init__(self, num_envs=1):
        super().__init__(num_envs)


@pytest.mark.filterwarnings("ignore:.*autoreset_mode")
@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (OtherStart, "differ at step 0"),
        (LateLabels, "differ at step 1 "),
        (ForgetsToRestart, "differ at step 26"),
        (NumberLabels, "info['labels'] of the batch's reset() a bool array"),
        (NoMode, "metadata['autoreset_mode']"),
        (NoLimit, "must take num_envs, max_episode_steps"),
    ],
)
def test_a_batch_that_does_not_do_what_the_single_environment_does(registered, batch, message):
    problems = check_domain(registered(Kitchen, batch))
    assert any(message in problem for problem in problems)


def test_every_problem_is_a_sentence():
    problems = [text for members, _ in ATTRIBUTES for text in check_domain(broken(**members))]
    problems += [text for change, _ in LABELS for text in check_domain(with_labels(change))]
    for problem in problems:
        assert problem[0].isupper() or problem.startswith("info")
        assert problem.rstrip().endswith(".")
