"""The pure parts of tools/build_interfaces.py: when it builds, what it patches, what it says."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from skm_machine import __version__

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location(
    "build_interfaces", ROOT / "tools/build_interfaces.py"
)
assert _spec is not None
assert _spec.loader is not None
build_interfaces = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build_interfaces)

EXPORT = (
    'INTERFACE_INCLUDE_DIRECTORIES "{python};{numpy}"\n'
    'IMPORTED_LOCATION "${{_IMPORT_PREFIX}}/lib/x.so"\n'
)
BUILD_MACHINE = EXPORT.format(
    python="/opt/python/cp311-cp311/include/python3.11",
    numpy="/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include",
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name in (
        "msg/A.msg",
        "launch/demo.launch.py",
        "launch/__pycache__/demo.pyc",
        "CMakeLists.txt",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path


def test_the_digest_changes_with_every_source_name_version_and_prefix(sources: Path) -> None:
    def digest(version: str = "ros-rclpy==7.1.6", prefix: str = "/venv") -> str:
        return build_interfaces.build_digest(sources, [version], Path(prefix))

    seen = [digest(), digest(version="ros-rclpy==7.1.7"), digest(prefix="/other")]
    (sources / "msg/A.msg").write_text("int32 x\n")
    seen.append(digest())
    (sources / "msg/A.msg").rename(sources / "msg/B.msg")
    seen.append(digest())
    (sources / "srv").mkdir()
    (sources / "srv/C.srv").write_text("---\n")
    seen.append(digest())
    assert len(set(seen)) == len(seen)


def test_the_digest_does_not_depend_on_caches_or_other_files(sources: Path) -> None:
    before = build_interfaces.build_digest(sources, [], Path("/venv"))
    (sources / "launch/__pycache__/demo.pyc").write_text("compiled anew")
    (sources / "README.md").write_text("hello")
    assert build_interfaces.build_digest(sources, [], Path("/venv")) == before


def test_a_build_is_current_only_with_its_digest_and_all_its_files(tmp_path: Path) -> None:
    stamp, installed = tmp_path / "stamp", tmp_path / "libskm.so"
    assert not build_interfaces.is_current(stamp, "abc")
    installed.touch()
    build_interfaces.write_stamp(stamp, "abc", [installed])
    assert build_interfaces.is_current(stamp, "abc")
    assert not build_interfaces.is_current(stamp, "abd")
    installed.unlink()
    assert not build_interfaces.is_current(stamp, "abc")


def test_files_of_an_earlier_build_and_the_second_record_of_skm_are_removed(tmp_path: Path) -> None:
    stale, kept = tmp_path / "skm/msg/_old.py", tmp_path / "skm/srv/_new.py"
    record, foreign = tmp_path / "skm-0.1.0-py3.11.egg-info/PKG-INFO", tmp_path / "rclpy/node.py"
    for file in (stale, kept, record, foreign):
        file.parent.mkdir(parents=True)
        file.touch()
    stamp = tmp_path / "share" / "skm" / "interfaces.stamp"
    stamp.parent.mkdir(parents=True)
    build_interfaces.write_stamp(stamp, "abc", [stale, kept])
    assert build_interfaces.remove_stale(stamp, [kept, record]) == [kept]
    assert kept.exists()
    assert foreign.exists()
    assert not stale.parent.exists()
    assert not record.parent.exists()


def test_the_stamp_of_a_copied_environment_removes_nothing_of_the_original(tmp_path: Path) -> None:
    original = tmp_path / "original" / "lib" / "module.py"
    original.parent.mkdir(parents=True)
    original.touch()
    stamp = tmp_path / "copy" / "share" / "skm" / "interfaces.stamp"
    stamp.parent.mkdir(parents=True)
    build_interfaces.write_stamp(stamp, "abc", [original])
    assert build_interfaces.remove_stale(stamp, []) == []
    assert original.exists()


def test_export_files_name_this_python_after_patching_once_or_twice(tmp_path: Path) -> None:
    folder = tmp_path / "share/std_msgs/cmake"
    folder.mkdir(parents=True)
    export = folder / "export_std_msgs__rosidl_generator_pyExport.cmake"
    export.write_text(BUILD_MACHINE)
    other = folder / "std_msgsConfig.cmake"
    other.write_text(BUILD_MACHINE)
    includes = ("/usr/include/python3.12", "/venv/numpy/_core/include")
    assert build_interfaces.patch_exports(tmp_path, *includes) == 1
    assert export.read_text() == EXPORT.format(python=includes[0], numpy=includes[1])
    assert build_interfaces.patch_exports(tmp_path, *includes) == 0
    assert other.read_text() == BUILD_MACHINE


@pytest.mark.parametrize(
    ("present", "environ", "named"),
    [
        ({"make", "cc", "c++"}, {}, ["cmake"]),
        ({"cmake", "make", "gcc"}, {}, ["a C++ compiler"]),
        (set(), {}, ["cmake", "make", "a C compiler", "a C++ compiler"]),
        ({"cmake", "make", "cc", "g++"}, {"CXX": "icpx -O2"}, ["a C++ compiler (CXX=icpx)"]),
    ],
)
def test_missing_tools_are_all_named_with_the_way_to_get_them(
    present: set[str], environ: dict[str, str], named: list[str]
) -> None:
    with pytest.raises(build_interfaces.BuildError) as error:
        build_interfaces.require_tools(lambda name: name if name in present else None, environ)
    assert f"not found: {', '.join(named)}.\n" in str(error.value)
    assert "apt install cmake make g++" in str(error.value)


def test_any_usual_compiler_will_do() -> None:
    present = {"cmake", "make", "clang", "clang++"}
    build_interfaces.require_tools(lambda name: name if name in present else None, {})


def wheels(prefix: Path, *packages: str) -> Path:
    for package in packages:
        (prefix / "share" / package).mkdir(parents=True)
    prefix.mkdir(exist_ok=True)
    (prefix / "Python.h").touch()
    return prefix


def test_an_unfit_environment_is_told_from_a_fit_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(
        prefix: Path, environ: dict[str, str] | None = None, include: Path | None = None
    ) -> str:
        try:
            build_interfaces.require_environment(prefix, environ or {}, str(include or prefix))
        except build_interfaces.BuildError as error:
            return str(error)
        return ""

    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "prefix", "/venv")
    whole = wheels(tmp_path / "whole", "rclpy", "rosidl_default_generators", "ament_cmake")
    assert check(whole) == ""
    assert check(whole, {"AMENT_PREFIX_PATH": str(whole)}) == ""
    assert "colcon build" in check(whole, {"AMENT_PREFIX_PATH": "/opt/ros/jazzy"})
    assert "python3-dev" in check(whole, include=tmp_path)
    assert "-r requirements/ros.txt" in check(wheels(tmp_path / "none"))
    assert "-r requirements/ros-build.txt" in check(wheels(tmp_path / "some", "rclpy"))
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert ".venv/bin/python" in check(whole)


def test_cmake_finds_the_wheels_and_does_not_load_their_libraries() -> None:
    environ = {
        "PATH": "/usr/bin",
        "LD_LIBRARY_PATH": "/venv/lib:/opt/cuda/lib:/venv/lib/python3.11/site-packages/ros_x.libs",
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
    }
    assert build_interfaces.build_environment(environ, Path("/venv")) == {
        "PATH": "/venv/bin:/usr/bin",
        "LD_LIBRARY_PATH": "/opt/cuda/lib",
        "AMENT_PREFIX_PATH": "/venv",
    }


def test_a_failed_step_shows_the_end_of_its_output(tmp_path: Path) -> None:
    shown: list[int] = []
    steps = "print('[ 40%] Building'); print('error: no such field'); raise SystemExit(1)"
    with pytest.raises(build_interfaces.BuildError, match="no such field"):
        build_interfaces.run([sys.executable, "-c", steps], {}, tmp_path / "log", shown.append)
    assert shown == [40]
    assert "no such field" in (tmp_path / "log").read_text()


def test_a_build_folder_is_emptied_for_another_toolchain_but_only_if_it_is_ours(
    tmp_path: Path,
) -> None:
    folder = build_interfaces.prepare_folder(tmp_path / "build", "python 3.11")
    (folder / "CMakeCache.txt").touch()
    build_interfaces.prepare_folder(folder, "python 3.11")
    assert (folder / "CMakeCache.txt").exists()
    build_interfaces.prepare_folder(folder, "python 3.12")
    assert not (folder / "CMakeCache.txt").exists()
    (tmp_path / "home").mkdir()
    precious = tmp_path / "home/thesis.tex"
    precious.touch()
    with pytest.raises(build_interfaces.BuildError, match="--build-dir"):
        build_interfaces.prepare_folder(tmp_path / "home", "python 3.12")
    assert precious.exists()


def test_every_interface_file_is_in_the_cmake_list_and_none_else() -> None:
    listed = re.findall(
        r"^\s+((?:msg|srv|action)/\S+)$", (ROOT / "CMakeLists.txt").read_text(), re.M
    )
    files = [
        str(file.relative_to(ROOT))
        for kind in ("msg", "srv", "action")
        for file in (ROOT / kind).iterdir()
    ]
    assert sorted(listed) == sorted(files)


def test_every_interface_field_says_what_it_is() -> None:
    for kind in ("msg", "srv", "action"):
        for file in (ROOT / kind).iterdir():
            for line in file.read_text().splitlines():
                is_field = (
                    line.strip()
                    and not line.startswith(("#", "---"))
                    and "=" not in line.split("#")[0]
                )
                assert not is_field or "# " in line, f"{file.name}: {line}"


def test_both_package_descriptions_agree_on_name_and_version() -> None:
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (package.findtext("name"), package.findtext("version")) == (
        project["name"],
        __version__,
    )


def test_every_requirement_of_the_ros_wheels_is_pinned() -> None:
    for name in ("ros.txt", "ros-build.txt", "ros-kilted.txt"):
        for line in (ROOT / "requirements" / name).read_text().splitlines():
            assert line.startswith(("#", "-r ")) or re.fullmatch(
                r"[\w.\-]+(\[\w+\])?==[\w.]+", line
            ), line
