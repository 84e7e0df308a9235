"""The demo's launch file under launch_testing: the mission is accepted, and every process ends well.

    launch_test test/ros/demo_launch_test.py       with launch, launch_ros and launch_testing of ROS 2

Not one of pytest's: PyPI has no wheels of these packages. `colcon test` runs it (CMakeLists.txt).
"""

import tempfile
import unittest
from pathlib import Path

import launch_testing
import launch_testing.asserts
import pytest
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

LAUNCH = Path(__file__).resolve().parents[2] / "launch" / "demo.launch.py"
ARGUMENTS = {"domain": "office", "mode": "lockstep", "mission": "F(coffee & X F office)"}
PICTURE = str(Path(tempfile.mkdtemp()) / "run.svg")
SECONDS = 120.0


@pytest.mark.launch_test
def generate_test_description():
    """Start the system `demo` as `ros2 launch skm demo.launch.py` does, found on this machine only."""
    demo = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(LAUNCH)),
        launch_arguments=[*ARGUMENTS.items(), ("picture", PICTURE)],
    )
    alone = SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return LaunchDescription([alone, demo, ReadyToTest()])


class TestMission(unittest.TestCase):
    """While the nodes run."""

    def test_the_mission_is_accepted(self, proc_output, proc_info):
        """The client that the launch file starts says so."""
        proc_output.assertWaitFor("accepted after", timeout=SECONDS, stream="stdout")
        proc_output.assertWaitFor(PICTURE, timeout=SECONDS, stream="stdout")
        proc_info.assertWaitForShutdown("mission", timeout=SECONDS)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the interrupt."""

    def test_every_process_ended_well(self, proc_info):
        """Nodes that are interrupted end with 0, the client after its mission, too."""
        launch_testing.asserts.assertExitCodes(proc_info)
