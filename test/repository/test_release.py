"""What a release needs: versions that agree, notes, workflows that parse."""

import runpy
from pathlib import Path

import pytest
import yaml

from skm_machine import __version__

ROOT = Path(__file__).parents[2]
RELEASE = runpy.run_path(str(ROOT / "tools" / "release.py"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_all_files_say_the_same_version():
    assert set(RELEASE["versions"]().values()) == {__version__}


def test_notes_come_from_the_changelog_without_links_into_the_repository():
    notes = RELEASE["notes"](__version__)
    assert "- Missions in temporal logic" in notes
    assert "## " not in notes.replace("###", "")
    assert "](docs/" not in RELEASE["notes"]("the next one")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_can_be_read_and_ask_for_no_more_rights_than_they_need(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["steps"], name
        assert all("uses" in step or "run" in step for step in job["steps"])
    assert "secrets." not in path.read_text()  # trusted publishing keeps no token


def test_what_the_dockerfile_copies_and_runs_is_there():
    text = (ROOT / "Dockerfile").read_text()
    for name in ("tools/install.py", "requirements/web.txt", "tools/build_interfaces.py"):
        assert name in text
        assert (ROOT / name).exists()
