"""Actions of a robot as skills of a domain on a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skm_machine.errors import UnachievableMissionError
from skm_machine.mission import compile_mission
from skm_primitives.execution.replanning import without_actions
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.planning.planners import make_policy
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import RemoteSkills
from skm_sim.maps.actions import action_world, read_actions
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES, load_building
from skm_sim.maps.yaml_file import MapError
from skm_sim.registry import get_domain
from skm_sim.robots.signals import read_events, read_sensed_facts

EXAMPLE = Path(__file__).parents[3] / "examples" / "delivery" / "delivery.yaml"
DELIVERY = "F(kitchen & X F(holding_cup & X F(office & !holding_cup))) & G !wet_floor"


@pytest.fixture(scope="module")
def cafe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps") / "cafe"
    make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, folder, actions=EXAMPLE, picture=False)
    return folder


def write(folder: Path, text: str) -> Path:
    path = folder / "actions.yaml"
    path.write_text(text)
    return path


def test_the_example_file_is_short_and_says_what_is_seen_and_what_comes() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 40
    pick = read_actions(EXAMPLE)[0]
    assert (pick.achieves, pick.where, pick.timeout) == (("holding_cup",), ("kitchen",), 30.0)
    assert [spec.name for spec in read_events(EXAMPLE)] == ["low_battery"]
    assert [spec.name for spec in read_sensed_facts(EXAMPLE)] == ["holding_cup", "door_open"]


def test_an_action_leads_from_where_it_can_be_done_to_what_it_changes(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "actions: {pick: {action: a, type: p/action/A, achieves: cup, where: here},"
        " drop: {action: b, type: p/action/B, undoes: cup, needs: ['!here', cup]}}",
    )
    moves, labels = np.array([[1, 0], [1, 0]]), np.array([[True], [False]])
    world = action_world(moves, labels, ("here",), read_actions(path))
    # states: 0 here, 1 there, 2 here with the cup, 3 there with it; columns: moves, pick, drop
    assert world.moves.tolist() == [[1, 0, 2, 0], [1, 0, 1, 1], [3, 2, 2, 2], [3, 2, 3, 1]]
    assert world.labels.tolist() == [[True, False], [False, False], [True, True], [False, True]]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{type: p/action/A, achieves: cup}", "needs an action"),
        ("{action: a, type: A, achieves: cup}", "such as arm_msgs/action/Pick"),
        ("{action: a, type: p/action/A}", "must achieve or undo something"),
        ("{action: a, type: p/action/A, achieves: cup, undoes: cup}", "achieves and undoes cup"),
        ("{action: a, type: p/action/A, achieves: cup, timeout: soon}", "must be such as 30 s"),
        ("{action: a, type: p/action/A, achieves: cup, were: kitchen}", "did you mean 'where'"),
        ("{action: a, type: p/action/A, achieves: cup, where: kitche}", "did you mean 'kitchen'"),
        ("{action: a, type: p/action/A, achieves: kitchen}", "kitchen is a place"),
        ("{action: a, type: p/action/A, achieves: cup, needs: tray}", "neither a place nor a fact"),
    ],
)
def test_what_is_wrong_with_an_action_is_said(tmp_path: Path, entry: str, said: str) -> None:
    path = write(tmp_path, f"actions: {{pick: {entry}}}")
    with pytest.raises(MapError, match=said):
        make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, tmp_path / "d", actions=path, picture=False)


def test_ways_and_actions_are_planned_together_and_simulated(cafe: Path) -> None:
    spec = get_domain(str(cafe))
    building, primitives = load_building(cafe), load_primitives(spec)
    env = spec.make()
    observed, info = env.reset(options={"start": [-6.0, 0.0]})
    mission = compile_mission(DELIVERY, propositions=spec.propositions)
    policy = make_policy(mission, primitives, "product")
    way = policy.way_from(observed)
    done = []
    for _, state, action in way:
        assert state == observed
        observed, _, _, _, info = env.step(action)
        if action >= building.floor.moves.shape[1]:
            spec_of = building.actions[action - building.floor.moves.shape[1]]
            done.append((spec_of.name, info["labels"]))
    assert done == [("pick", {"kitchen", "holding_cup"}), ("place", {"office"})]
    env.close()


def test_without_its_action_a_mission_cannot_be_done_and_says_so(cafe: Path) -> None:
    spec = get_domain(str(cafe))
    primitives = load_primitives(spec)
    mission = compile_mission(DELIVERY, propositions=spec.propositions)
    moves = load_building(cafe).floor.moves.shape[1]
    fields = ("domain", "digest", "propositions", "constraints", "goals", "world_model", "gamma")
    known = {name: getattr(primitives, name) for name in fields}
    space = primitives.action_space
    skills = RemoteSkills(checkpoint="", **known, observation_space=space, action_space=space)
    make_policy(mission, skills, "product").start(0)
    with pytest.raises(UnachievableMissionError):
        make_policy(mission, without_actions(skills, [moves]), "product").start(0)


def test_a_domain_whose_actions_were_changed_is_made_again(cafe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cafe"
    make_map_domain(EXAMPLE_MAP, EXAMPLE_PLACES, folder, actions=EXAMPLE, picture=False)
    (folder / "actions.yaml").write_text(EXAMPLE.read_text().replace("30 s", "40 s"))
    with pytest.raises(MapError, match="have changed"):
        load_building(folder)
