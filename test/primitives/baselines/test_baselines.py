"""The methods that skill machines are compared with: what they learn, and how they are run."""

import numpy as np
import pytest

from plain_corridor import CORRIDOR, SLIPPERY
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.baselines import METHODS, best_return, make_problem, run_method
from skm_primitives.baselines import problem as compiled_module
from skm_primitives.baselines.hrm import make_options
from skm_primitives.baselines.methods import Experiment, collected, jobs_of
from skm_primitives.evaluation.exact import best_success
from skm_primitives.workers import run_jobs
from skm_sim import get_domain
from skm_sim.exploration import explored_model
from skm_sim.tabular import TabularModel, tabular_model

OFFICE = get_domain("office")


def problem_of(*tasks, repeat=False):
    formulas = [OFFICE.tasks[name].formula if name in OFFICE.tasks else name for name in tasks]
    missions = [
        compile_mission(text, propositions=OFFICE.propositions, repeat=repeat) for text in formulas
    ]
    return make_problem(tabular_model(OFFICE), missions)


@pytest.fixture(scope="module")
def corridor():
    """Six cells in a row, `a` at the left end and `b` at the right; moves left and right."""
    cells = np.arange(6)
    moves = np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, 5)], axis=1)
    labels = np.stack([cells == 0, cells == 5], axis=1)
    return TabularModel(("a", "b"), (), moves, cells.copy(), labels, cells.copy())


@pytest.mark.parametrize("method", ["ql", "ql-rs", "crm", "crm-rs", "hrm", "hrm-rs"])
@pytest.mark.parametrize(
    ("text", "repeat"), [("F(a & X F b)", False), ("F(a & X F b)", True), ("G F a & G F b", False)]
)
def test_every_learner_ends_at_the_best_possible_in_a_corridor(corridor, method, text, repeat):
    mission = compile_mission(text, propositions=("a", "b"), repeat=repeat)
    problem = make_problem(corridor, [mission])
    settings = METHODS[method].settings(
        steps=20_000,
        alpha=0.1 if "hrm" in method else 0.5,  # how long an option takes is a matter of chance
        initial=0.0,
        test_epsilon=0.0,
        episode_steps=60,
    )
    found = run_method(method, problem, OFFICE, range(3), settings)
    assert found.at(20_000)[0] == pytest.approx(best_return(problem, 0.0, 60), rel=0.05)


def test_a_plain_environment_of_ones_own_is_explored(corridor):
    found = explored_model(CORRIDOR)
    assert np.array_equal(found.transitions, corridor.transitions)
    assert np.array_equal(found.labels, corridor.labels)
    experiment = Experiment("plain_corridor:CORRIDOR", (("F(a & X F b)", False),))
    settings = METHODS["ql-sm"].settings(steps=2000, test_epsilon=0.0, episode_steps=60)
    scores = run_method("ql-sm", experiment.problem(), CORRIDOR, [0], settings).scores
    assert scores.min() == 1.0


def test_chance_and_hidden_counters_are_no_plain_table():
    with pytest.raises(SkmError, match="not determined by what is observed"):
        explored_model(SLIPPERY)
    with pytest.raises(SkmError, match="must be Discrete"):
        explored_model(get_domain("moving_targets"))


def test_promises_are_choices_of_the_learner(corridor):
    problem = make_problem(corridor, [compile_mission("F G a", propositions=("a", "b"))])
    assert problem.choices > 1
    settings = METHODS["ql"].settings(
        steps=20_000, alpha=0.5, initial=0.0, test_epsilon=0.0, episode_steps=40
    )
    found = run_method("ql", problem, OFFICE, range(2), settings)
    assert found.at(20_000)[0] == pytest.approx(best_return(problem, 0.0, 40), rel=0.1)


COMMITMENT = "G F A & F G !B"


@pytest.mark.parametrize(
    ("method", "text"),
    [(method, COMMITMENT) for method in ("sm-paper", "sm", "ql-sm-paper", "ql-sm")]
    + [("sm", "G F A & G F C"), ("ql-sm", "G F A & G F C")],
)
def test_skill_machines_do_recurring_missions_and_keep_their_promises(method, text):
    problem = problem_of(text)
    assert problem.choices == (2 if text == COMMITMENT else 1)
    settings = METHODS[method].settings(
        steps=4000, every=2000, test_epsilon=0.0, episode_steps=200, evaluations=100
    )
    found = run_method(method, problem, OFFICE, [0], settings)
    best = best_return(problem, 0.0, 200)
    assert found.scores.max() <= 1.03 * best  # it starts in cells drawn at random
    assert found.scores[0, 0] >= 0.95 * best


def test_a_promise_that_is_broken_is_the_end_for_skill_machines_too():
    problem = problem_of("F G A")  # In the office nobody can stay anywhere but at a wall.
    settings = METHODS["sm-paper"].settings(steps=1000, test_epsilon=0.0, evaluations=50)
    found = run_method("sm-paper", problem, OFFICE, [0], settings)
    assert 0 < found.scores.max() <= best_return(problem, 0.0, 1000)


def test_the_best_possible_is_that_of_the_exact_evaluation():
    problem = problem_of("coffee")
    expected = best_success(problem.model, problem.missions[0].machine, 0.1, 1000).mean()
    assert best_return(problem, 0.1, 1000) == pytest.approx(expected, abs=1e-6)


def test_potentials_are_the_machines_values_with_the_sign_turned():
    problem = problem_of("coffee")
    names = problem.missions[0].machine.names
    potential = dict(zip(names, problem.potentials(0.9).tolist(), strict=True))
    assert potential == pytest.approx({"u0": -0.9, "u1": -1.0, "accepted": 0.0, "failed": 0.0})


def test_options_are_the_edges_that_the_world_can_take():
    problem = problem_of("coffee_mail")
    all_edges = make_options(problem, unachievable=True)
    options = make_options(problem)
    assert len(all_edges.source) == len(options.source) + 1
    assert not set(options.target) & problem.missions[0].machine.failure


def test_runs_do_not_depend_on_how_they_are_spread():
    experiment = Experiment("office", ((OFFICE.tasks["coffee"].formula, False),))
    settings = METHODS["crm"].settings(steps=2000)
    tables = []
    for seeds in (range(12), range(12)):
        jobs, results = jobs_of(experiment, "crm", settings, seeds), {}
        workers = 1 if not tables else 2
        run_jobs(
            jobs, workers, lambda job, found, results=results: results.update({job.key: found})
        )
        tables.append(collected("crm", settings, jobs, results).scores)
    assert np.array_equal(*tables)
    alone = run_method("crm", experiment.problem(), OFFICE, [11], settings)
    assert np.array_equal(alone.scores[0], tables[0][11])


def test_a_mission_that_no_method_can_learn_is_refused():
    with pytest.raises(SkmError, match="learned together"):
        problem_of("coffee", "G F A & G F B")
    with pytest.raises(SkmError, match="'crm'"):
        run_method("crmm", problem_of("coffee"), OFFICE, [0])


def test_without_numba_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiled_module, "njit", None)
    loop = compiled_module.compiled(lambda: None)
    with pytest.raises(SkmError, match=r"pip install 'skm\[baselines\]'"):
        loop()
