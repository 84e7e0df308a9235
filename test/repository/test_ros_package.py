"""What ROS people expect of the package: dependencies that rosdep knows, views of topics that exist."""

import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
ROSDEP_KEYS = {
    "python3-rich",
    "python3-gymnasium-pip",
    "python3-mujoco-pip",
    "python3-websockets",
    "mcap-ros2-support",
}


def depends():
    """Return the packages that package.xml asks for."""
    tags = ("depend", "exec_depend", "build_depend")
    return {tag.text for name in tags for tag in ET.parse(ROOT / "package.xml").iter(name)}


def imported():
    """Return the packages of messages that the nodes import, but those that they can do without."""
    found = set()
    for path in (ROOT / "src" / "skm_ros").rglob("*.py"):
        found |= set(re.findall(r"^from (\w+)\.(?:msg|srv|action) import", path.read_text(), re.M))
    return found - {"skm", "rclpy"}


def test_every_package_of_messages_that_is_imported_is_in_package_xml_and_none_besides():
    interfaces = "\n".join(
        p.read_text() for kind in ("msg", "srv", "action") for p in (ROOT / kind).iterdir()
    )
    asked = {name for name in depends() if re.fullmatch(r"\w+_(msgs|srvs|interfaces)", name)}
    assert imported() <= asked
    for name in asked - imported():
        assert name == "action_msgs" or f"{name}/" in interfaces, f"{name} is not used"


def test_no_key_is_asked_for_that_rosdistro_does_not_have():
    """As it was in August 2026; python3-zstandard, python3-mcap and python3-safetensors are none."""
    python = {f"python3-{name}" for name in ("matplotlib", "numpy", "pil", "yaml")} | ROSDEP_KEYS
    others = {name for name in depends() if name.startswith("python3-")} - python
    assert not others


def test_python_packages_go_by_their_rosdep_keys():
    assert depends() >= ROSDEP_KEYS
    assert "python3-torch" not in depends(), "only to learn"


def test_the_numpy_of_a_stock_jazzy_will_do():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    numpy = next(line for line in project["dependencies"] if line.startswith("numpy"))
    assert tuple(map(int, re.search(r">=([\d.]+)", numpy)[1].split(".")[:2])) <= (1, 26)


def test_rviz_shows_topics_and_a_frame_that_the_simulator_has():
    view = yaml.safe_load((ROOT / "config" / "skm.rviz").read_text())["Visualization Manager"]
    topics = {shown["Topic"]["Value"] for shown in view["Displays"] if "Topic" in shown}
    assert topics == {"/skm/markers", "/skm/image"}
    source = (ROOT / "src" / "skm_ros" / "nodes" / "sim_node.py").read_text()
    assert f'MAP_FRAME: Final = "{view["Global Options"]["Fixed Frame"]}"' in source
    for topic in topics:
        assert f'"{topic.removeprefix("/skm/")}", qos.' in source
