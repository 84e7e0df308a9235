"""Ways that are blocked or closed while a mission is under way: what was done stays done."""

import math
from pathlib import Path

import pytest

import skm_sim.maps
from skm_machine.errors import UnachievableMissionError
from skm_machine.mission import compile_mission
from skm_primitives.evaluation.robot_trials import DRIVE_CONFIG, LIMITS
from skm_primitives.execution.closed_places import ClosedPlaces
from skm_primitives.execution.episodes import run_episode
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import cells_of_places, plan_from, way_ahead, without_cells
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import RemoteSkills
from skm_sim.maps.spec import load_building
from skm_sim.registry import get_domain
from skm_sim.robots.blockages import Blockages
from skm_sim.robots.drive import drive_in
from skm_sim.robots.simulated import (
    RANGE,
    SensorModel,
    SimulatedRobot,
    chassis_of,
    make_robot_model,
)
from skm_sim.robots.walls import walls_of

HALL = Path(skm_sim.maps.__file__).parent / "hall"
PILLAR = (0.0, 0.4, 0.3)
CORRIDOR = (-3.9, 0.2, 0.0)


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """The building, its primitives, and what a machine knows of them."""
    folder = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", folder, picture=False)
    primitives = load_primitives(get_domain(str(folder)))
    fields = ("domain", "propositions", "constraints", "goals", "world_model", "gamma")
    known = {name: getattr(primitives, name) for name in fields}
    skills = RemoteSkills(
        checkpoint="", digest="", observation_space=None, action_space=None, **known
    )
    return load_building(folder), primitives, skills


def mission_of(text, skills):
    return compile_mission(text, propositions=skills.propositions)


def begun(mission, skills, cell, labels):
    plan = plan_from(mission, skills, "product", mission.machine.initial, cell, shield=True)
    run = MissionRun(plan.policy, skills, 1000, plan.shield)
    run.begin(cell, labels, 0)
    return run


def test_the_way_ahead_ends_where_the_machine_moves_and_says_what_to_avoid(hall):
    building, _, skills = hall
    start = building.floor.cell_at(*CORRIDOR[:2])
    run = begun(
        mission_of("F(kitchen & X F lab) & G !wet_floor", skills), skills, start, frozenset()
    )
    way = way_ahead(run, start)
    shown = [building.places.labels_at(*building.floor.centres[cell]) for cell in way.cells]
    assert way.cells[0] == start
    assert "kitchen" in shown[-1]
    assert not any("kitchen" in labels for labels in shown[:-1])
    assert all("wet_floor" in labels for labels in way.avoid)
    assert frozenset({"wet_floor"}) in way.avoid


def test_the_way_ahead_is_the_way_that_a_run_goes_also_in_learned_places():
    spec, said = get_domain("office"), []
    skills = load_primitives(spec)
    mission = mission_of("G F mail & G F C & G !decoration", skills)

    class Listener:
        """Notes what was ahead, and where the robot was."""

        def begin(self, run, observation, labels):
            self.entered(run, observation, labels, moved=True, terminated=False, truncated=False)

        def decided(self, run, action):
            pass

        def entered(self, run, observation, labels, *, moved, terminated, truncated):
            self.seen = int(observation)
            said.append((self.seen, moved))

        def end(self, run, outcome, reason=""):
            pass

    class Ahead(Listener):
        def decided(self, run, action):
            said[-1] = (*said[-1], way_ahead(run, self.seen).cells)

    env = spec.make()
    run_episode(env, skills, make_policy(mission, skills), max_steps=80, seed=2, recorder=Ahead())
    env.close()
    ends = [step for step, (_, moved, *_) in enumerate(said) if moved and step]
    assert len(ends) > 3
    for step in range(ends[-1]):
        end = min(later for later in ends if later > step)
        assert said[step][2] == tuple(cell for cell, *_ in said[step : end + 1])


def test_the_rest_of_a_mission_is_planned_where_its_beginning_is_closed(hall):
    building, _, skills = hall
    kitchen = building.floor.cell_at(-5.0, 2.0)
    mission = mission_of("F(kitchen & X F lab)", skills)
    closed = without_cells(skills, cells_of_places(skills.world_model, ["kitchen"]).tolist())
    outside = building.floor.cell_at(*CORRIDOR[:2])
    with pytest.raises(UnachievableMissionError):
        plan_from(mission, closed, "product", mission.machine.initial, outside, shield=False)
    run = begun(mission, skills, building.floor.cell_at(*CORRIDOR[:2]), frozenset())
    assert run.enter(kitchen, {"kitchen"}, 1), "the kitchen is done"
    plan = plan_from(mission, closed, "product", run.tracker.state, kitchen, shield=True)
    run.replan(plan.policy, plan.shield, kitchen)
    way = way_ahead(run, kitchen)
    assert "lab" in building.places.labels_at(*building.floor.centres[way.cells[-1]])


def test_closed_places_outlive_their_file_and_are_put_back(tmp_path):
    places = ClosedPlaces(tmp_path / "state")
    places.close("hall", "kitchen", "cleaning")
    places.close("depot", "gate", "")
    again = ClosedPlaces(tmp_path / "state")
    assert again.in_domain("hall") == {"kitchen": "cleaning"}
    assert again.open("hall", "kitchen")
    assert not again.open("hall", "kitchen")
    assert not ClosedPlaces(tmp_path / "state").in_domain("hall")
    assert ClosedPlaces(tmp_path / "state").in_domain("depot") == {"gate": ""}


def test_a_pillar_that_is_on_no_map_is_gone_around(hall):
    """The Car in simulated time, with its laser: it stops, and takes another way."""
    building, primitives, skills = hall
    car = make_robot_model("car", walls_of(building.occupancy).with_disc(*PILLAR), CORRIDOR)
    drive = drive_in(building, chassis_of("car"), LIMITS, DRIVE_CONFIG)
    gaps = []
    simulated = SimulatedRobot(
        car,
        drive,
        SensorModel(),
        0,
        lambda pose: gaps.append(math.dist(pose[:2], PILLAR[:2]) - PILLAR[2]),
    )
    blockages = Blockages(building.floor, 0.22 + DRIVE_CONFIG.clearance + 0.05, 60.0)
    mission = mission_of("F lab", skills)
    entered = []
    while not entered:
        entered = simulated.period(DRIVE_CONFIG.period, go=False)
    state = entered[-1]
    run, obstructed, replanned = begun(mission, skills, state.value, state.labels), 0.0, 0
    while not run.over and simulated.now < 200:
        drive.scan(*car.scan(), simulated.now, limit=RANGE)
        assert not drive.localisation.problem
        obstructed = obstructed + DRIVE_CONFIG.period if drive.obstructed(simulated.now) else 0.0
        if obstructed > 1.0:
            obstructed, replanned = 0.0, replanned + 1
            assert blockages.block_around(drive.obstacles.unknown, car.pose[:2], simulated.now)
            free = without_cells(skills, blockages.cells(simulated.now))
            plan = plan_from(mission, free, "product", run.tracker.state, state.value, shield=True)
            run.replan(plan.policy, plan.shield, state.value)
        if obstructed == 0.0:
            drive.take(
                run.decide(primitives.values(state.value, run.history)).action, simulated.now
            )
        for state in simulated.period(DRIVE_CONFIG.period, go=obstructed == 0.0):
            if not run.over:
                run.enter(state.value, state.labels, round(simulated.now * 1e9))
    assert run.tracker.status.value == "accepted"
    assert 1 <= replanned <= 6
    assert min(gaps) > 0.2
    assert not car.touches_wall
