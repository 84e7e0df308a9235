"""Labels from the topics of other nodes, by a file and without code."""

from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from skm.action import ExecuteMission
from skm.msg import MachineState
from std_msgs.msg import Bool

LABELS = """
labels:
  low_battery: {topic: /battery_state, when: "percentage < 0.2", hysteresis: 0.05}
  door_open: {topic: /doors/lab, type: std_msgs/msg/Bool, when: data, stale: stop, timeout: 2}
"""


def test_a_battery_of_any_message_type_changes_a_mission_and_a_silent_door_stops_it(
    systems, tmp_path
):
    (tmp_path / "labels.yaml").write_text(LABELS)
    system = systems(
        parameters={
            "sim": {"mode": "realtime", "rate": 10.0},
            "machine": {"labels": tmp_path / "labels.yaml"},
        }
    )
    system.wait_ready()
    assert list(system.states.last.events) == ["low_battery", "door_open"]
    node = system.client.node
    battery = node.create_publisher(BatteryState, "/battery_state", 10)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    door = node.create_publisher(Bool, "/doors/lab", latched)
    charge = BatteryState(percentage=0.9)

    def hears(condition):
        def holds():
            battery.publish(charge)
            door.publish(Bool(data=True))
            return condition(system.states.last)

        return holds

    system.wait_until(hears(lambda state: "door_open" in state.true_events), "an open door")
    goal = system.send("G F A & G(low_battery -> F coffee)", max_steps=100_000)
    system.wait_until(
        hears(lambda state: state.phase == MachineState.RUNNING and state.accepted > 0), "a round"
    )
    charge.percentage = 0.1
    system.wait_until(hears(lambda state: "low_battery" in state.true_events), "a low battery")
    system.wait_until(hears(lambda state: "coffee" in state.target), "the way to the coffee")
    charge.percentage = 0.22
    accepted = system.states.last.accepted
    system.wait_until(hears(lambda state: state.accepted > accepted), "another round")
    assert "low_battery" in system.states.last.true_events, "that is within its hysteresis"
    system.wait_until(lambda: "door_open is not known" in system.states.last.reason, "a stop")
    assert system.states.last.phase == MachineState.STOPPED
    system.wait_until(
        hears(lambda state: state.phase == MachineState.RUNNING), "a mission that goes on"
    )
    goal.cancel()
    assert system.finish(goal).outcome == ExecuteMission.Result.CANCELLED
