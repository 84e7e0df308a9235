"""Events over ROS: any node sets them on a topic, and the robot turns round."""

from skm.action import ExecuteMission
from std_msgs.msg import Bool

from skm_ros import qos

RESULT = ExecuteMission.Result
MISSION = "G(battery_low -> F office) & G F A & G F B & G !decoration"
FARTHEST = 29
"""Steps from the farthest cell to the office, decorations kept off."""


def test_an_event_turns_the_robot_round(systems):
    system = systems(parameters={"machine": {"events": "battery_low"}})
    system.wait_ready()
    feedback = []
    publisher = system.client.node.create_publisher(Bool, "event/battery_low", qos.COMMAND)
    goal = system.send(MISSION, feedback.append, max_steps=1_000_000)
    system.wait_until(lambda: any(m.machine.accepted >= 1 for m in feedback), "a round")
    system.wait_until(lambda: publisher.get_subscription_count() == 1, "the machine to listen")
    assert not any(wants_the_office(m) for m in feedback)
    publisher.publish(Bool(data=True))
    system.wait_until(lambda: any(wants_the_office(m) for m in feedback), "a reaction")
    publisher.publish(Bool(data=False))
    reacted = next(m.machine.mission_steps for m in feedback if wants_the_office(m))
    system.wait_until(
        lambda: feedback[-1].machine.mission_steps > reacted + FARTHEST, "the charger"
    )
    goal.cancel()
    result = system.finish(goal)
    low = next(m for m in result.transitions if "battery_low" in m.labels)
    assert reacted >= low.step
    answer = next(m for m in result.transitions if m.step > low.step and "office" in m.labels)
    assert answer.step - low.step <= FARTHEST  # straight there, whatever is passed on the way


def wants_the_office(feedback):
    """Tell whether the robot is after the office: elsewhere it is only what a battery would ask for."""
    return feedback.machine.target.startswith("office & ")


def test_what_the_robot_brings_about_is_no_event(systems):
    system = systems(parameters={"machine": {"events": "coffee"}})
    system.wait_ready()
    result = system.run("F coffee")
    assert result.outcome == RESULT.REJECTED
    assert "needs a name of its own" in result.reason
