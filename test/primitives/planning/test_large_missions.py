"""Plans of missions in parts: optimal where that is known, and judged by the definition of the logic."""

import json
import time
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

import skm_sim.maps
from skm_machine import Status, compile_mission, holds, parse
from skm_machine.automata.ltlf import minimal_automaton
from skm_machine.errors import UnachievableMissionError
from skm_machine.factored import FactoredMachine, clauses_of, finite_part
from skm_primitives import MissionRun, make_policy
from skm_primitives.planning.large_mission_policy import LargeMissionPolicy
from skm_primitives.planning.large_missions import LargeMissionPlanner, NoPlanFoundError
from skm_primitives.planning.place_graph import Cells
from skm_primitives.planning.planners import parts_for
from skm_primitives.planning.product import mission_product
from skm_primitives.planning.solvers import Lengths
from skm_primitives.skills.known_skills import KnownPrimitives, compute_skills
from skm_sim.finite_world import FiniteWorld
from skm_sim.maps.building import make_building
from skm_sim.maps.env import building_model
from skm_sim.maps.places import Circle, Places, PlacesFile
from skm_sim.spec import DomainSpec

HALL = Path(skm_sim.maps.__file__).parent / "hall" / "hall.yaml"
DATA = Path(__file__).parents[2] / "data"
ORACLE = [json.loads(line) for line in (DATA / "large_missions.jsonl").read_text().splitlines()]


def building(places, cell=0.25, robot_radius=0.22, neighbours=8):
    shapes = {
        name: tuple(Circle(*shape["circle"]) for shape in found) for name, found in places.items()
    }
    file = PlacesFile(Places(shapes), cell=cell, robot_radius=robot_radius, neighbours=neighbours)
    return make_building(HALL, file)


def cells_of_building(found):
    names = np.array(found.places.names)
    return Cells(found.floor.moves, tuple(frozenset(names[row].tolist()) for row in found.labels))


def parts(text):
    """The parts of a conjunction, also of one that would be one machine."""
    clauses = clauses_of(parse(text))
    return FactoredMachine([finite_part(clause, minimal_automaton(clause)) for clause in clauses])


@pytest.mark.parametrize("mission", ORACLE, ids=[mission["name"] for mission in ORACLE])
def test_plans_are_as_short_as_is_known_to_be_possible(mission):
    found = building(mission["places"])
    cells = cells_of_building(found)
    start = found.floor.cell_at(*mission["start"])
    plan = LargeMissionPlanner(parts(mission["formula"]), cells).plan(start, seconds=10)
    assert plan.first_seconds <= 2
    assert plan.seconds <= 11
    exact, best = mission["exact_steps"], mission["best_known_steps"]
    assert plan.steps <= (exact or 1.02 * best)
    assert plan.at_least <= best
    trace = [cells.labels[cell] for cell in plan.cells]
    formula = parse(mission["formula"])
    assert holds(formula, trace)
    assert not any(holds(formula, trace[:step]) for step in range(1, len(trace)))
    ways = [start, *plan.cells]
    assert all(after in cells.successors[cell] for cell, after in pairwise(ways))


TEMPLATES = (
    "F {a}",
    "F {a}",
    "F({a} & X F {b})",
    "!{a} U {b}",
    "!{a} W {b}",
    "G({a} -> F {b})",
    "F({a} | {b})",
    "G !{c}",
    "F({a} & X F {a})",
    "F({a} & X(!{c} U {b}))",
    "F[0,120] {a}",
    "G({a} -> X G !{a})",
)


@lru_cache
def random_map(seed):
    rng = Random(seed)
    places = {
        f"p{i}": [
            {"circle": [rng.uniform(-7, 7), rng.uniform(-4.5, 4.5), rng.choice((0.3, 0.5, 1.2))]}
        ]
        for i in range(8)
    }
    return building(places, cell=0.5, robot_radius=0.15)


def satisfiable_conjunction(rng, names):
    """Draw clauses until they do not contradict each other."""
    while True:
        clauses = []
        for _ in range(rng.randint(3, 6)):
            a, b, c = rng.sample(names, 3)
            clauses.append(f"({rng.choice(TEMPLATES).format(a=a, b=b, c=c)})")
        text = " & ".join(clauses)
        one = compile_mission(text, horizon="finite", parts="never").machine
        if one.satisfiable:
            return text, one


@pytest.mark.parametrize("seed", range(15))
def test_random_conjunctions_against_the_product(seed):
    """Never worse than by 1 in 50, no wrong "impossible", no plan that the machine refuses."""
    rng = Random(1000 + seed)
    found = random_map(seed % 3)
    cells = cells_of_building(found)
    names = [name for name in found.places.names if name not in found.unreachable]
    text, one = satisfiable_conjunction(rng, names)
    start = rng.randrange(len(cells.labels))
    sets = tuple(dict.fromkeys(cells.labels))
    world = FiniteWorld(
        cells.successors, sets, np.array([sets.index(shown) for shown in cells.labels])
    )
    product = mission_product(one, world)
    exact = Lengths(product, 0.99).being[product.reading(one.initial, start, 0)] + 1
    planner = LargeMissionPlanner(parts(text), cells)
    if not np.isfinite(exact):
        with pytest.raises(UnachievableMissionError):
            planner.plan(start, seconds=2)
        return
    plan = planner.plan(start, seconds=2)
    assert exact <= plan.steps <= 1.02 * exact
    assert plan.at_least <= exact
    assert holds(parse(text), [cells.labels[cell] for cell in plan.cells])


STATIONS = {
    f"s{i}": [{"circle": [x, y, 0.4]}]
    for i, (x, y) in enumerate(
        [(-7, -4), (-5, -3), (-2, -3), (0, -4), (2, -3), (5, -2), (6, 2), (4, 3), (1, 3), (-1, 2),
         (-5, 3), (-7, 2)]
    )
}  # fmt: skip


@lru_cache
def stations():
    """Twelve stations in the hall, and skills there."""
    found = building(STATIONS)
    model = building_model(found)
    spec = DomainSpec(
        name="stations",
        env_id="",
        propositions=found.places.names,
        constraints=(),
        gamma=0.99,
        primitive_steps=1000,
        tasks={},
    )
    return found, KnownPrimitives(compute_skills(model), spec)


def run_of(text, start, **options):
    found, skills = stations()
    mission = compile_mission(
        text, propositions=skills.propositions, parts=parts_for(skills), **options
    )
    policy = make_policy(mission, skills)
    assert isinstance(policy, LargeMissionPolicy)
    policy.seconds = 1.0
    run = MissionRun(policy, skills, 5000)
    cells = cells_of_building(found)
    cell = found.floor.cell_at(*start)
    run.begin(cell, cells.labels[cell])
    return run, cells, cell


def drive(run, cells, cell, steps, disturb=None):
    """Go on for so many steps; `disturb(step, cell)` may put the robot elsewhere, or add labels."""
    labels = []
    for step in range(steps):
        if run.over:
            break
        values = run.skills.values(cell, run.history)
        cell = int(cells.successors[cell, int(run.decide(values).action)])
        more = frozenset()
        if disturb is not None:
            cell, more = disturb(step, cell)
        labels.append(cells.labels[cell] | more)
        run.enter(cell, labels[-1])
    return cell, labels


def test_twelve_stations_and_back_are_planned_in_two_seconds():
    text = " & ".join(f"F(s{i} & X F s0)" for i in range(1, 12))
    stations()
    began = time.process_time()
    run, cells, cell = run_of(text, (0.0, 0.0))
    assert time.process_time() - began <= 2
    _, labels = drive(run, cells, cell, 2000)
    assert run.tracker.status is Status.ACCEPTED
    assert len(labels) == run.policy.first_plan.steps
    assert holds(parse(text), labels)


def test_a_robot_that_is_moved_away_is_planned_for_from_where_it_is():
    text = " & ".join(f"F s{i}" for i in range(12))
    run, cells, cell = run_of(text, (0.0, 0.0))
    away = stations()[0].floor.cell_at(7.125, 3.375)
    _, labels = drive(
        run, cells, cell, 2000, lambda step, cell: (away if step == 20 else cell, set())
    )
    assert run.tracker.status is Status.ACCEPTED
    assert run.policy.plans == 2
    assert holds(parse(text), labels)


def test_a_patrol_goes_in_rounds_and_answers_events_between():
    patrol = " & ".join(f"G F s{i}" for i in range(1, 12))
    run, cells, cell = run_of(f"{patrol} & G(low -> F s0)", (0.0, 0.0), events=("low",))
    assert run.machine.endless
    answered = []

    def low(step, cell):
        if "s0" in cells.labels[cell] and step > 100:
            answered.append(step)
        return cell, {"low"} if step == 100 else set()

    drive(run, cells, cell, 1200, low)
    assert run.tracker.accepting_visits >= 3
    assert answered, "the event at step 100 is never answered"


def test_impossible_is_said_only_with_a_proof():
    text = " & ".join(f"F s{i}" for i in range(12))
    with pytest.raises(UnachievableMissionError, match=r"F\[0,3\] s0' alone cannot"):
        run_of(f"{text} & F[0,3] s0", (7.125, 3.375), horizon="finite")
    cells = cells_of_building(stations()[0])
    planner = LargeMissionPlanner(parts(text), cells)
    with pytest.raises(NoPlanFoundError, match="does not prove"):
        planner.plan(0, seconds=0.0)
