"""`skm eval --missions`: drawn from the domain alone, counted where feasible, beside the optimum."""

import json
from dataclasses import replace
from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from skm_cli.main import main
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.evaluation.exact import TrueProduct
from skm_primitives.evaluation.mission_trials import (
    MissionsEvaluation,
    MissionTrial,
    read_mission_set,
)
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.learning.training import make_learner, train
from skm_sim import DomainSpec, get_domain, label_env
from skm_sim.spec import Task, task_table
from skm_sim.tabular import tabular_model
from skm_sim.true_world import finite_world

SEEDS = range(40)


class Pier(gymnasium.Env):
    """Seven cells in a row. The start is in the middle; either end ends the world, `x` lies at one side.

    exit . x start . shop sea
    """

    observation_space = Discrete(9)  # two of which never come
    action_space = Discrete(2)
    slip = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 3
        return self.cell, {}

    def step(self, action):
        way = 1 if action == 1 else -1
        if self.np_random.random() < self.slip:
            way = -way
        self.cell += way
        return self.cell, 0.0, self.cell in (0, 6), False, {}


class WetPier(Pier):
    slip = 0.25


class TwoStarts(Pier):
    """From its second start, beside the sea, the shop is behind one and nothing else is in reach."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 3 if self.np_random.random() < 0.5 else 5
        return self.cell, {}

    def step(self, action):
        found = super().step(action)
        if self.cell == 4 and action == 0:  # The shop's door closes: nobody comes back from it.
            self.cell = 6
            return 6, 0.0, True, False, {}
        return found


def at(cell):
    return lambda observation, info, env: observation == cell


LABELS = {"exit": at(0), "x": at(2), "shop": at(5), "sea": at(6)}


def spec_of(name, kind):
    place = f"missions/{name}-v0"
    if place not in gymnasium.registry:
        gymnasium.register(
            place, lambda **_: label_env(kind(), LABELS, ("x",)), max_episode_steps=50
        )
    return DomainSpec(name, place, tuple(LABELS), ("x",), 0.9, 30, {})


PIER, WET, TWO = (spec_of(k.__name__, k) for k in (Pier, WetPier, TwoStarts))
HERE = __name__


@pytest.fixture(scope="module")
def skills(tmp_path_factory):
    """Skills of two training seeds for each world; the second saw only the cells beside starts."""
    made = {}
    for spec, (seed, steps) in product((PIER, WET, TWO), ((0, 12_000), (1, 1))):
        out = tmp_path_factory.mktemp("skills") / f"{spec.name}{seed}.safetensors"
        short = replace(spec, primitive_steps=1) if seed else spec
        learner = make_learner(short, {"seed": seed}, out, resume=False, overwrite=True)
        train(learner, steps, out, "test")
        made[spec.name, seed] = out
    return made


def drawn(spec, checkpoint, **options):
    return evaluate(spec, EvaluationOptions(missions=6, checkpoint=checkpoint, **options))


def feasible_by_hand(text, start=3):
    """Whether some sequence of up to 12 actions does a mission before the world ends."""
    machine = compile_mission(text, propositions=tuple(LABELS)).machine
    frontier = {(machine.initial, start)}
    for _ in range(12):
        reached = set()
        for u, cell in frontier:
            for there in (cell - 1, cell + 1):
                labels = frozenset(n for n, here in LABELS.items() if here(there, {}, None))
                outcome = machine.step(u, labels)
                if outcome.reward > 0:
                    return True
                if outcome.target not in machine.terminal and there not in (0, 6):
                    reached.add((outcome.target, there))
        frontier = reached
    return False


def test_missions_that_no_start_allows_are_not_drawn_beyond_an_end_of_the_world(skills):
    found = drawn(PIER, skills["Pier", 0], seed=0)
    assert len(found.trials) == 6
    assert all(feasible_by_hand(trial.mission) for trial in found.trials)
    assert (found.success, found.return_ratio, found.optimum) == (1.0, 1.0, "exact")


def test_the_draw_does_not_depend_on_the_checkpoint(skills):
    for name, spec in (("Pier", PIER), ("WetPier", WET)):
        texts = [
            [trial.mission for trial in drawn(spec, skills[name, seed], seed=2, episodes=n).trials]
            for seed, n in ((0, 3), (1, 3), (0, 7))
        ]
        assert texts[0] == texts[1] == texts[2]
    assert drawn(PIER, skills["Pier", 1], seed=2).success < 1


def test_missions_count_only_from_starts_where_they_are_feasible(skills):
    options = EvaluationOptions(
        mission_set=("F exit",), checkpoint=skills["TwoStarts", 0], episodes=20, seed=1
    )
    (trial,) = evaluate(TWO, options).trials
    assert trial.infeasible > 3
    assert (trial.starts, trial.success, trial.return_ratio) == (20, 1.0, 1.0)
    with pytest.raises(SkmError, match="feasible from none of the domain's starts"):
        evaluate(
            PIER,
            EvaluationOptions(mission_set=("F(sea & X F exit)",), checkpoint=skills["Pier", 0]),
        )


def test_identical_runs_are_made_once_and_are_not_independent(skills):
    found = drawn(PIER, skills["Pier", 0], episodes=50)
    assert found.runs == 6  # one start, a deterministic world: one run a mission
    assert all(trial.starts == 50 for trial in found.trials)
    assert found.success_interval == proportion_interval(6, 6)
    wet = drawn(WET, skills["WetPier", 0], episodes=20)
    assert wet.runs == 120
    assert wet.success_interval == proportion_interval(6 * wet.success, 6)


def test_intervals_hold_the_truth_as_often_as_they_say_though_runs_of_a_mission_are_alike():
    random, inside = np.random.default_rng(0), 0
    for _ in range(300):
        rates = random.choice([0.2, 1.0], size=20, p=[0.25, 0.75])  # the mean is 0.8
        trials = [
            MissionTrial("", 2, 100, int(random.binomial(100, p)), 0, (), 100, 100) for p in rates
        ]
        low, high = MissionsEvaluation("", "", 0, "", trials).success_interval
        inside += low <= 0.8 <= high
    assert inside / 300 > 0.93


def wet_best(text, steps=1000):
    """The best probability of success on the wet pier, by plain backward induction over cells."""
    machine = compile_mission(text, propositions=tuple(LABELS)).machine
    value = {(u, c): 0.0 for u in range(machine.num_states) for c in range(7)}

    def arriving(u, cell, old):
        labels = frozenset(n for n, here in LABELS.items() if here(cell, {}, None))
        outcome = machine.step(u, labels)
        if outcome.reward > 0:
            return 1.0
        over = outcome.target in machine.terminal or cell in (0, 6)
        return 0.0 if over else old[outcome.target, cell]

    for _ in range(steps):
        old = dict(value)
        for u, cell in product(set(range(machine.num_states)) - machine.terminal, range(1, 6)):
            back, on = arriving(u, cell - 1, old), arriving(u, cell + 1, old)
            value[u, cell] = max(0.75 * back + 0.25 * on, 0.25 * back + 0.75 * on)
    return value[machine.initial, 3]


@pytest.mark.parametrize("text", ["F exit", "F shop & G !x", "F(shop & X F exit)"])
def test_the_optimum_of_a_slippery_world_that_ends_is_the_best_probability(text, skills):
    world = finite_world(WET, SEEDS)
    assert (world.exact, world.deterministic, world.states) == (False, False, 7)
    machine = compile_mission(text, propositions=tuple(LABELS)).machine
    best = TrueProduct(world, machine).best_success(1000)[world.state_of[3]]
    assert best == pytest.approx(
        wet_best(text), abs=0.06
    )  # estimated: the environment has no table
    options = EvaluationOptions(mission_set=(text,), checkpoint=skills["WetPier", 0], episodes=200)
    (trial,) = evaluate(WET, options).trials
    assert trial.best_success == pytest.approx(best)
    assert trial.success_ratio == pytest.approx(1.0, abs=0.12)


def test_a_table_of_the_environment_is_exact_and_one_that_lies_is_not_believed():
    def ends(cell):
        return cell in (0, 6)

    def told_outcomes(s, way):
        on, back = s + way, s - way
        return [(0.75, on, 0.0, ends(on)), (0.25, back, 0.0, ends(back))]

    class Told(WetPier):
        def __init__(self):
            self.P = {s: {a: told_outcomes(s, 2 * a - 1) for a in (0, 1)} for s in range(1, 6)}

    class Lied(WetPier):
        def __init__(self):
            moves = {s: {a: s + 2 * a - 1 for a in (0, 1)} for s in range(1, 6)}
            self.P = {
                s: {a: [(1.0, there, 0.0, ends(there))] for a, there in row.items()}
                for s, row in moves.items()
            }

    told, lied = (finite_world(spec_of(k.__name__, k), SEEDS) for k in (Told, Lied))
    assert (told.exact, lied.exact) == (True, False)
    machine = compile_mission("F shop & G !x", propositions=tuple(LABELS)).machine
    best = TrueProduct(told, machine).best_success(1000)[told.state_of[3]]
    assert best == pytest.approx(wet_best("F shop & G !x"), abs=1e-9)


def test_tasks_of_a_plain_finite_world_have_an_optimum_too(skills):
    spec = replace(PIER, tasks=task_table([Task("shopping", "F shop", False, 50)]))
    found = evaluate(spec, EvaluationOptions(checkpoint=skills["Pier", 0])).document()
    (task,) = found["missions"]
    assert (task["runs"], task["mean_steps"], task["optimal_steps"]) == (1, 2.0, 2.0)


def test_a_mission_set_is_written_and_given_again(skills, tmp_path, capsys):
    place, saved = f"{HERE}:PIER", tmp_path / "set.txt"
    shared = ("--checkpoint", str(skills["Pier", 0]), "--json")
    first = ("--missions", "4", "--seed", "5", "--save-missions", str(saved))
    assert main(["eval", place, *first, *shared]) == 0
    found = json.loads(capsys.readouterr().out)
    assert read_mission_set(saved) == tuple(m["mission"] for m in found["missions"])
    assert main(["eval", place, "--mission-set", str(saved), "--seed", "5", *shared]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert main(["eval", place, *first, *shared]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# nothing\n\n", "has no mission"),
        ("F exit\nF nowhere\n", "nowhere"),
        (None, "cannot read"),
    ],
)
def test_a_mission_set_that_is_wrong_is_refused_in_a_sentence(
    content, said, skills, tmp_path, capsys
):
    path = tmp_path / "set.txt"
    if content is not None:
        path.write_text(content)
    arguments = ("--mission-set", str(path), "--checkpoint", str(skills["Pier", 0]))
    assert main(["eval", f"{HERE}:PIER", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_terminal_goal_cannot_be_reached_twice(skills, capsys):
    for text in ("F(sea & X F sea)", "F(exit & X !exit)", "G F sea"):
        arguments = ("--checkpoint", str(skills["Pier", 0]))
        assert main(["run", f"{HERE}:PIER", text, *arguments]) == 2, text
        assert "cannot be achieved" in capsys.readouterr().err


def test_a_finite_world_is_that_of_the_tabular_model_where_there_is_one():
    model = tabular_model(get_domain("office"))
    world = model.world
    assert (world.deterministic, world.exact) == (True, True)
    assert world.states == model.num_states
