"""ROS actions as skills of a robot on a map, over DDS: nothing of them is known but a file."""

from pathlib import Path

import pytest
from rclpy.action import ActionServer
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from skm.action import ExecuteMission
from skm.msg import Leg
from std_msgs.msg import Bool

import skm_sim.maps
from skm_bench.processes import RobotSystem
from skm_machine.errors import SkmError
from skm_primitives.planning.map_domains import make_map_domain
from skm_ros.nodes.action_servers import action_type, fill, fill_way
from skm_sim.robots.pose import REST

HALL = Path(skm_sim.maps.__file__).parent / "hall"
# Any type of any package will do; this is one that is installed wherever the tests run.
ACTIONS = """
actions:
  pick: {action: /arm/pick, type: skm/action/ExecuteMission, goal: {mission: cup}, achieves: holding_cup,
         where: kitchen, timeout: 10 s, retries: 1}
  place: {action: /arm/place, type: skm/action/ExecuteMission, goal: {max_steps: 3}, undoes: holding_cup,
          where: office, timeout: 10 s}
  open_door: {action: /door/open, type: skm/action/ExecuteMission, achieves: door_open, timeout: 10 s}
  wave: {action: /arm/wave, type: skm/action/ExecuteMission, achieves: waved, retries: 0}
labels:
  holding_cup: {topic: /gripper, type: std_msgs/msg/Bool, when: data}
  door_open: {topic: /door, type: std_msgs/msg/Bool, when: data}
  low_battery: {topic: /battery_state, when: "percentage < 0.2"}
"""
DELIVERY = (
    "F(kitchen & X F(holding_cup & X F(office & !holding_cup))) & G(office -> door_open)"
    " & G(low_battery -> !lobby)"
)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Robot:
    """The arm, a door that closes once, and a battery: each third action fails, one lies."""

    def __init__(self, node):
        self.goals, self.moving, self.commands, self.closed = [], [], [], False
        self._gripper = node.create_publisher(Bool, "/gripper", LATCHED)
        self._door = node.create_publisher(Bool, "/door", LATCHED)
        battery = node.create_publisher(BatteryState, "/battery_state", LATCHED)
        battery.publish(BatteryState(percentage=0.1))
        self._gripper.publish(Bool(data=False))
        self._door.publish(Bool(data=False))
        for name, effect in (
            ("/arm/pick", lambda: self._gripper.publish(Bool(data=True))),
            ("/arm/place", lambda: self._gripper.publish(Bool(data=False))),
            ("/door/open", lambda: self._door.publish(Bool(data=True))),
        ):
            ActionServer(node, ExecuteMission, name, self._execute(name, effect))

    def _execute(self, name, effect):
        def execute(handle):
            self.goals.append((name, handle.request.mission, handle.request.max_steps))
            self.moving.append(self.commands[-1] != REST)
            if len(self.goals) % 3 == 2:
                handle.abort()
                return ExecuteMission.Result(error_msg="slipped")
            handle.succeed()
            effect()
            if name == "/arm/pick" and not self.closed:
                self.closed = True
                self._door.publish(Bool(data=False))
            return ExecuteMission.Result()

        return execute


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """A robot with an arm, beside the kitchen."""
    folder = tmp_path_factory.mktemp("maps")
    (folder / "actions.yaml").write_text(ACTIONS)
    files = HALL / "hall.yaml", HALL / "places.yaml"
    actions = folder / "actions.yaml"
    make_map_domain(*files, folder / "cafe", actions=actions, picture=False)
    parameters = {"car": {"start": "-3.9 0.6 1.6"}, "machine": {"labels": str(actions)}}
    with RobotSystem(str(folder / "cafe"), 20.0, parameters=parameters) as made:
        yield made


def test_a_delivery_goes_on_through_failing_servers_and_a_door_that_closes(system):
    robot = Robot(system.client.node)
    system.watch_command = robot.commands.append
    robot.commands.append(REST)
    result = system.run(DELIVERY, 120)
    assert result.outcome == ExecuteMission.Result.ACCEPTED, (result.reason, robot.goals)
    names = [name for name, _, _ in robot.goals]
    assert set(names) == {"/arm/pick", "/arm/place", "/door/open"}
    assert names.index("/arm/pick") < names.index("/arm/place")
    assert len(names) > 3, "one of the first three has failed"
    assert ("/arm/pick", "cup", 0) in robot.goals
    assert ("/arm/place", "", 3) in robot.goals
    assert not any(robot.moving), "actions are carried out where the robot stands"


def test_an_action_that_nobody_serves_ends_the_mission_with_the_reason(system):
    result = system.run("F waved", 60)
    assert result.outcome == ExecuteMission.Result.NO_PROGRESS
    assert "wave was tried once without success: nobody serves /arm/wave" in result.reason


def test_goals_are_filled_by_the_fields_of_their_type():
    goal = action_type("skm/action/ExecuteMission").Goal()
    assert fill(goal, {"mission": "F a", "max_seconds": 3}, "pick: goal").max_seconds == 3.0
    for values, said in (
        ({"misson": "F a"}, "did you mean 'mission'"),
        ({"max_steps": "three"}, "max_steps must be uint32, not 'three'"),
        ({"reset": 1}, "reset must be boolean, not 1"),
    ):
        with pytest.raises(SkmError, match=said):
            fill(goal, values, "pick: goal")
    with pytest.raises(SkmError, match="is arm_msgs installed"):
        action_type("arm_msgs/action/Pick")


def test_a_leg_ends_where_an_action_is_due_and_avoids_what_its_facts_forbid():
    leg = Leg(cells=[3, 4, 14, 15], avoid=["wet", "cup,wet_floor", "cup"])
    fill_way(leg, 10, ("cup",))
    assert (list(leg.cells), list(leg.avoid)) == ([3, 4], ["wet"])
    leg = Leg(cells=[13, 14], avoid=["wet", "cup,stairs"])
    fill_way(leg, 10, ("cup",))
    assert (list(leg.cells), list(leg.avoid)) == ([3, 4], ["stairs"])
