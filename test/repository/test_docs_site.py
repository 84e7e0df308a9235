"""The site of the documentation builds without a warning, and has a text for every public name."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("skm_machine", "skm_sim", "skm_primitives", "skm_ros", "skm_web")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(site, package):
    page = (site / "reference" / "api" / f"{package}.html").read_text()
    names = [name for name in importlib.import_module(package).__all__ if name != "__version__"]
    assert [name for name in names if f".{name}" not in page] == []


def test_the_search_index_has_the_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    pages = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert {
        "reference/commands.html",
        "reference/parameters.html",
        "reference/glossary.html",
    } <= pages


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
