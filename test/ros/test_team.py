"""A team of robots over ROS: one mission, a namespace for each robot, and one that is killed."""

import json
from functools import partial
from pathlib import Path

import pytest
from harness import skm_process
from skm.msg import Observation

import skm_sim.maps
from skm_cli.main import main
from skm_primitives.planning.map_domains import make_map_domain
from skm_primitives.recording.files import read_recording
from skm_ros import qos
from skm_ros.client.ros_client import RosClient
from skm_ros.client.skm_client import SkmClient
from skm_web import Hub, RunView

HALL = Path(skm_sim.maps.__file__).parent / "hall"


def run(capsys, *arguments):
    code = main([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """The hall, as a domain."""
    made = tmp_path_factory.mktemp("maps") / "hall"
    make_map_domain(HALL / "hall.yaml", HALL / "places.yaml", made, picture=False)
    return str(made)


@pytest.fixture
def team(domain_id, hall, monkeypatch):
    """Three simulated robots in the hall, as `skm up` starts them."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
    with_three = ("team", "--robots", "3", "--domain", hall, "--respawn", "false")
    process = skm_process(domain_id, "up", *with_three)
    yield process
    process.stop_cleanly()


def test_a_team_fulfils_one_mission_and_its_recording_is_judged_again(team, capsys, tmp_path):
    mission = (
        "F r1.coffee & F r2.dock & F(r3.lab & X F store) & G !wet_floor & G !(r1.lab & r2.lab)"
    )
    code, document = run(
        capsys, "mission", mission, "--when-ready", "--timeout", 120, "--record", tmp_path
    )
    assert (code, document["outcome"]) == (0, "accepted"), document
    code, status = run(capsys, "status")
    assert (status["machine"]["phase"], list(status["nodes"])) == ("idle", ["team"])
    (recorded,) = tmp_path.glob("*.mcap")
    code, verdict = run(capsys, "verify", recorded)
    assert code == 0, verdict
    robots, ways = set(), set()
    hub = Hub()
    view = RunView(hub)
    for message in read_recording(recorded).messages("markers"):
        view.on_markers(message.value)
        robots.add(sum(shape["kind"] == "cylinder" for shape in hub.value("robot")["shapes"]))
        ways |= {shape["group"] for shape in hub.value("scene")["shapes"]}
    view.close()
    assert max(robots) == 3, "the page shows all robots"
    assert {"way of r1", "way of r2", "way of r3"} <= ways, "each with its plan"


@pytest.fixture
def slow_team(domain_id, hall, monkeypatch):
    """Two simulated robots that take ten cells a second."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
    options = ("--robots", "2", "--domain", hall, "--respawn", "false", "--mode", "realtime")
    process = skm_process(domain_id, "up", "team", *options)
    yield domain_id
    process.stop_cleanly()


def test_stop_holds_all_robots_until_resume_and_the_mission_goes_on(slow_team):
    seen = {}
    with RosClient(domain_id=slow_team) as ros, SkmClient(domain_id=slow_team) as skm:
        for name in ("skm", "r1", "r2"):
            ros.node.create_subscription(
                Observation, f"/{name}/observation", partial(seen.__setitem__, name), qos.STATE
            )
        assert ros.spin_until(lambda: len(seen) == 3, 60.0)
        # The robots begin at the coffee and in the hall: all of this takes a while.
        skm.start("F r1.lab & F r1.dock & F r2.store & F r2.lobby & G !wet_floor")
        assert ros.spin_until(lambda: seen["skm"].step > 3, 60.0)
        assert not seen["skm"].stopped
        skm.stop()
        assert ros.spin_until(lambda: seen["skm"].stopped == "stop was called", 30.0)
        assert seen["r1"].stopped
        assert seen["r2"].stopped
        where = list(seen["skm"].data)
        assert where == [seen["r1"].discrete, seen["r2"].discrete]
        ros.spin_until(lambda: False, 1.0)
        assert list(seen["skm"].data) == where
        assert skm.status().phase in ("running", "stopped")
        skm.resume()
        assert ros.spin_until(lambda: not seen["skm"].stopped, 30.0)
        outcome = skm.wait(120.0)
    assert outcome.outcome == "accepted", outcome
