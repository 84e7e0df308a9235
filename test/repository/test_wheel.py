"""The wheel stands by itself: built, installed with nothing else, used from an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from skm_machine import __version__ as VERSION

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src", "benchmarks", "config", "launch", "msg")
"""What the wheel is made of; copied, since a build leaves files beside the sources."""


def run(*command, cwd, check=True):
    """Run a command that sees nothing of these sources."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    line = [str(part) for part in command]
    done = subprocess.run(line, cwd=cwd, env=alone, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    tree = tmp_path_factory.mktemp("wheel") / "tree"
    tree.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, tree / name, ignore=leave)
        else:
            shutil.copy(ROOT / name, tree / name)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tree.parent, cwd=tree)
    (built,) = tree.parent.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Return the `bin` of an environment with the wheel and its dependencies, as pinned, alone."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=True)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check")
    run(*pip, "-c", ROOT / "requirements" / "core.txt", wheel, cwd=folder)
    return folder / "bin"


@pytest.fixture
def skm(environment, tmp_path):
    """Return a function that runs `skm` with some arguments, in an empty folder."""
    return lambda *arguments: run(environment / "skm", *arguments, cwd=tmp_path, check=False)


def test_the_wheel_holds_all_that_is_not_python(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    data, info = f"skm-{VERSION}.data/data/share/skm", f"skm-{VERSION}.dist-info"
    for source in (*ROOT.glob("config/*.yaml"), *ROOT.glob("launch/*.launch.py")):
        assert f"{data}/{source.relative_to(ROOT)}" in names
    assert f"{info}/licenses/LICENSE" in names
    for pattern in ("*.safetensors", "*.json", "*.png", "*.yaml", "py.typed"):
        for source in (ROOT / "src").rglob(pattern):
            assert str(source.relative_to(ROOT / "src")) in names
    assert not [name for name in names if name.startswith(("test", "skm/"))]


def test_the_package_tells_its_version(environment, tmp_path):
    program = "import skm_machine; print(skm_machine.__version__)"
    assert run(environment / "python", "-c", program, cwd=tmp_path).stdout.strip() == VERSION


def test_missions_are_checked_and_run(skm):
    assert skm("check", "F a").returncode == 0
    done = skm("run", "office", "F coffee", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "accepted"


def test_a_missing_extra_is_named_in_one_sentence(skm):
    done = skm("run", "safety", "F button")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "skm: the domain 'safety' needs mujoco; install it with `pip install 'skm[safety]'`."
    ]


def test_the_description_of_the_ros_graph_is_installed(environment):
    installed = environment.parent / "share" / "skm" / "config" / "graph.yaml"
    assert installed.read_text() == (ROOT / "config" / "graph.yaml").read_text()


def test_benchmarks_come_along(skm):
    done = skm("bench", "core", "--domain", "office", "--json")
    assert done.returncode == 0, done.stderr
    assert {timing["domain"] for timing in json.loads(done.stdout)} == {"office"}
    wrong = skm("bench", "peers", "--worlds", "leter_world")
    assert wrong.stderr.startswith("skm: no world 'leter_world'; did you mean 'letter_world'?")
    needs_ros = skm("bench", "loop")
    assert needs_ros.returncode == 2
    assert "ROS 2 cannot be imported" in needs_ros.stderr


def test_nothing_is_installed_but_packages_of_our_own(environment):
    (folder,) = environment.parent.glob("lib/python*/site-packages/skm-*.dist-info")
    top = {
        line.split("/")[0].split(",")[0] for line in (folder / "RECORD").read_text().splitlines()
    }
    scripts = ".."
    packages = {name for name in top - {scripts} if (folder.parent / name).is_dir()}
    assert all(name.startswith("skm") for name in packages), packages
