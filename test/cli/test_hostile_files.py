"""Files of nonsense, and outputs that cannot be written: a sentence and exit code 2, no traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from skm_cli.main import main
from skm_machine.documents import read_json
from skm_primitives import default_checkpoint
from skm_sim import get_domain
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES

OFFICE = default_checkpoint(get_domain("office"))
ALIASES = ["x"] * 9
for _ in range(8):
    ALIASES = [ALIASES] * 9
NONSENSE = {
    "nested lists": "[" * 20_000 + "]" * 20_000,
    "nested mappings": "{a: " * 20_000 + "1" + "}" * 20_000,
    "nested JSON": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "NUL": "mission: F a\0\n",
    "binary": bytes(range(256)) * 20,
    "nothing": "",
    "no date": "mission: 2024-13-45\n",
    "a long number": f"mission: F a\nlimits: {{steps: {'9' * 5000}}}\n",
    "no number": "mission: F a\nlimits: {steps: .inf}\n",
    "aliases of aliases": yaml.safe_dump({"mission": ALIASES}),
    "an alias of itself": "mission: &a [*a]\n",
    "events that are no names": "mission: F a\nevents: [1, [2]]\n",
    "UTF-16": "mission: F a\n".encode("utf-16"),
}


@pytest.fixture(params=[*NONSENSE, "a folder", "unreadable"])
def nonsense(request, tmp_path):
    """Return a function that makes a file of nonsense at a path."""

    def make(name):
        path = tmp_path / name
        if request.param == "a folder":
            path.mkdir()
        elif request.param == "unreadable":
            path.symlink_to("/proc/self/mem")  # root may read any file, but not this one
        else:
            data = NONSENSE[request.param]
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return make


def refused(capsys, *arguments):
    """Run `skm`; it must refuse with a sentence that is no longer than a screen."""
    code = main([str(argument) for argument in arguments])
    out, error = capsys.readouterr()
    assert code == 2, out + error
    assert error.startswith("skm: ")
    assert len(error) < 3000


def test_missions(capsys, nonsense):
    path = nonsense("mission.yaml")
    refused(capsys, "check", path)
    refused(capsys, "run", path)


def test_maps_and_places(capsys, nonsense, tmp_path):
    path = nonsense("file.yaml")
    refused(capsys, "map", path, "--places", EXAMPLE_PLACES, "--out", tmp_path / "one")
    refused(capsys, "map", EXAMPLE_MAP, "--places", path, "--out", tmp_path / "two")
    assert not (tmp_path / "one").exists()
    assert not (tmp_path / "two").exists()


def test_domains_on_maps(capsys, nonsense, tmp_path):
    nonsense("domain.json")
    refused(capsys, "check", "F a", "--domain", tmp_path)
    refused(capsys, "run", tmp_path, "F a")


def test_checkpoints_and_their_cards(capsys, nonsense, tmp_path):
    shutil.copy(OFFICE, tmp_path / "skills.safetensors")
    nonsense("skills.json")
    refused(capsys, "run", "office", "F A", "--checkpoint", tmp_path / "skills")
    arrays = nonsense("arrays.safetensors")
    refused(capsys, "run", "office", "F A", "--checkpoint", arrays)


def test_recordings(capsys, nonsense):
    path = nonsense("run.mcap")
    refused(capsys, "verify", path)
    refused(capsys, "verify", path, "--recover")
    if not path.is_dir():  # A folder is a list of recordings, also if none is in it.
        refused(capsys, "view", path)


@pytest.mark.parametrize("entry", ["domain", "learner", "seed", "steps", "scores", "digest"])
@pytest.mark.parametrize("value", [None, True, [[]], {"a": 1}, 1.5])
def test_cards_with_entries_of_another_kind(capsys, tmp_path, entry, value):
    if entry == "scores" and isinstance(value, dict):
        return
    shutil.copy(OFFICE, tmp_path / "skills.safetensors")
    card = json.loads(OFFICE.with_suffix(".json").read_text())
    (tmp_path / "skills.json").write_text(json.dumps({**card, entry: value}))
    refused(capsys, "run", "office", "F A", "--checkpoint", tmp_path / "skills")


def test_json_that_is_nested_too_deep_is_a_value_error():
    with pytest.raises(ValueError, match="nested too deep"):
        read_json("[" * 50_000 + "]" * 50_000)


# Outputs


def skm(*arguments, stdout="/dev/full", stderr=subprocess.PIPE):
    command = [sys.executable, "-m", "skm_cli.main", *map(str, arguments)]
    with Path(stdout).open("w") as out:
        return subprocess.run(
            command, stdout=out, stderr=stderr, text=True, check=False, timeout=120, env=os.environ
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ["patterns"],
        ["patterns", "--json"],
        ["check", "F coffee", "--domain", "office"],
        ["check", "F coffee", "--json"],
        ["run", "office", "F coffee", "--json"],
    ],
)
def test_output_to_a_full_device_is_an_error_in_a_sentence(arguments):
    found = skm(*arguments)
    assert (found.returncode, found.stderr) == (
        2,
        "skm: cannot write the output: No space left on device.\n",
    )


def test_errors_to_a_full_device_leave_the_exit_code():
    with Path("/dev/full").open("w") as full:
        assert skm("check", "F(", stdout="/dev/null", stderr=full).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "F a", "--draw", "FULL.svg"],
        ["check", "F a", "--export", "FULL.dot"],
        ["run", "office", "F A", "--render", "FULL.png"],
        ["run", "office", "F A", "--render", "FULL.svg"],
        ["run", "office", "F A", "--render", "FULL.gif"],
        ["run", "office", "F A", "--record", "FULL.mcap", "--overwrite"],
        ["plot", "values", "office", "--out", "FULL.png"],
        ["train", "office", "--steps", "10", "--out", "FULL.safetensors", "--overwrite"],
    ],
)
def test_files_on_a_full_device_are_an_error_in_a_sentence(tmp_path, capsys, arguments):
    names = [Path(name).name for name in arguments if name.startswith("FULL")]
    for name in names:
        (tmp_path / name).symlink_to("/dev/full")
        (tmp_path / f"{name}.pending").symlink_to(
            "/dev/full"
        )  # what a checkpoint is first written as
    given = [str(tmp_path / part) if part in names else part for part in arguments]
    assert main(given) == 2
    error = capsys.readouterr().err
    assert "FULL" in error
    assert "No space left on device" in error
