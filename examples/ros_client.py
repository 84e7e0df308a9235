"""Missions from a program of one's own, over ROS 2: run one, watch one, take one back.

skm up demo --domain office --mission none &     # or a launch file, or your robot
python examples/ros_client.py
"""

from skm_ros import MissionStatus, SkmClient


def show(status: MissionStatus) -> None:
    """Print where the mission is."""
    print(f"  step {status.steps}: state {status.state} of {status.states}, to {status.target}")


def main() -> None:
    """Run a mission to its end, then a recurring one until it has done two rounds."""
    with SkmClient() as robot:
        result = robot.run("F(coffee & X F office) & G !decoration", seed=1, on_status=show)
        print(f"{result.outcome} after {result.steps} steps: {result.reason}")

        robot.start("G F A & G F C & G !decoration", seed=2)
        while robot.status().rounds < 2 and robot.wait(0.1) is None:
            pass
        result = robot.cancel()
        print(f"{result.outcome} with {result.rounds} rounds in {result.steps} steps")


if __name__ == "__main__":
    main()
