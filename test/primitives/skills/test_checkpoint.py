"""The checkpoint format: exact round trips, one clear error per fault, and no half checkpoints."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives.learning.tabular import TabularLearner
from skm_primitives.skills import checkpoint
from skm_primitives.skills.checkpoint import Card, load, save
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.tabular_skills import TabularSettings
from tiny_worlds import CORRIDOR, SHY

CARD = Card(
    domain="corridor",
    learner="test",
    command="skm train corridor",
    seed=3,
    steps=1000,
    scores={"success": 0.5},
    details={"random": {"state": 2**120, "name": "PCG64"}, "moments": [1.5, None]},
)
ARRAYS = {
    "weights": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4),
    "counts": np.arange(5, dtype=np.int64),
    "frames": np.arange(6, dtype=np.uint8).reshape(1, 2, 3),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 3), np.int32),
    "scalar": np.array(2.5),
}


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "corridor.safetensors"
    save(path, ARRAYS, CARD)
    return path


def edit_card(path, **changes):
    card = checkpoint.card_path(path)
    card.write_text(json.dumps(json.loads(card.read_text()) | changes))


def test_a_round_trip_keeps_every_bit(stored):
    arrays, card = load(stored, domain="corridor")
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)
    assert card.digest
    assert {**vars(card), "digest": ""} == vars(CARD)


def test_transposed_arrays_are_stored_as_they_look(tmp_path):
    save(tmp_path / "t", {"t": ARRAYS["weights"].T}, CARD)
    np.testing.assert_array_equal(load(tmp_path / "t")[0]["t"], ARRAYS["weights"].T)


def test_the_suffix_may_be_left_out_and_dots_in_names_stay(tmp_path):
    save(tmp_path / "deep" / "run-0.9", ARRAYS, CARD)
    names = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert names == ["run-0.9.json", "run-0.9.safetensors"]
    assert load(tmp_path / "deep" / "run-0.9")[1].seed == 3


def test_a_missing_checkpoint(tmp_path):
    with pytest.raises(checkpoint.MissingCheckpointError, match="skm train"):
        load(tmp_path / "nothing")


def test_a_folder_is_no_checkpoint(tmp_path):
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(checkpoint.CheckpointError, match="cannot read"):
        load(tmp_path / "folder")


@pytest.mark.parametrize("kept", [0, 5, 8, 60, -1])
def test_a_truncated_file(stored, kept):
    data = stored.read_bytes()
    stored.write_bytes(data[:kept])
    with pytest.raises(checkpoint.TruncatedCheckpointError, match=r"truncated|empty"):
        load(stored)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x95 a pickle, which must never be opened.",
        b"#!/bin/sh\necho hello\n",
        (9).to_bytes(8, "little") + b'{"a": 1}}',
        (8).to_bytes(8, "little") + b'{"a": 1}',
    ],
)
def test_a_foreign_file(stored, data):
    stored.write_bytes(data)
    with pytest.raises(checkpoint.ForeignFileError, match="not a safetensors file"):
        load(stored)


def test_a_missing_card(stored):
    checkpoint.card_path(stored).unlink()
    with pytest.raises(checkpoint.MissingCardError, match="Keep the two files together"):
        load(stored)


@pytest.mark.parametrize("text", ["not json", "[1]", '{"format": "other"}', "\udcff"])
def test_a_foreign_card(stored, text):
    checkpoint.card_path(stored).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(checkpoint.ForeignFileError, match="card"):
        load(stored)


def test_a_card_that_lacks_a_field(stored):
    card = checkpoint.card_path(stored)
    document = json.loads(card.read_text())
    del document["seed"]
    card.write_text(json.dumps(document))
    with pytest.raises(checkpoint.ForeignFileError, match="lacks seed"):
        load(stored)


def test_another_format_version(stored):
    edit_card(stored, version=99)
    with pytest.raises(checkpoint.CheckpointVersionError, match="version 99, this skm reads 1"):
        load(stored)


def test_arrays_that_are_not_those_of_the_card(stored):
    data = bytearray(stored.read_bytes())
    data[-1] ^= 1
    stored.write_bytes(data)
    with pytest.raises(checkpoint.DigestMismatchError, match="SHA-256"):
        load(stored)


def test_another_domain(stored):
    with pytest.raises(checkpoint.WrongDomainError, match="'corridor', not in 'office'"):
        load(stored, domain="office")


def test_a_domain_that_has_changed_since(tmp_path):
    learner = TabularLearner(CORRIDOR, TabularSettings())
    learner.run_round()
    learner.save(tmp_path / "c", "test")
    changed = type(CORRIDOR)(**{**vars(CORRIDOR), "gamma": 0.5})
    with pytest.raises(checkpoint.WrongDomainError, match="another version"):
        load_primitives(changed, tmp_path / "c")
    with pytest.raises(checkpoint.WrongDomainError, match="'corridor', not in 'shycorridor'"):
        load_primitives(SHY, tmp_path / "c")


def test_a_learner_that_nobody_knows(stored):
    with pytest.raises(SkmError, match="learner 'test'"):
        load_primitives(replace(CORRIDOR, name=checkpoint.load(stored)[1].domain), stored)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(checkpoint.CheckpointError, match="cannot write"):
        save(tmp_path / "file" / "c", ARRAYS, CARD)


@pytest.mark.parametrize("renames", [0, 1])
def test_a_save_cut_short_leaves_the_old_or_the_new_checkpoint(stored, monkeypatch, renames):
    """Whichever rename is the last one to happen, what is on disk is whole."""
    done = []
    rename = Path.replace

    def stop_after(path, target):
        if len(done) == renames:
            raise SystemExit
        done.append(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", stop_after)
    with pytest.raises(SystemExit):
        save(stored, {"new": np.ones(3)}, Card("corridor", "test", "later", 4, 2000))
    monkeypatch.undo()
    arrays, card = load(stored)
    assert (card.steps, set(arrays)) == ((2000, {"new"}) if renames else (1000, set(ARRAYS)))
    save(stored, ARRAYS, CARD)
    assert load(stored)[1].steps == 1000
    assert len(list(stored.parent.iterdir())) == 2


SAVE_FOREVER = """
import sys
import numpy as np
from skm_primitives.skills.checkpoint import (Card, save)
for steps in range(10**9):
    save(sys.argv[1], {"steps": np.full(1000, steps)}, Card("corridor", "test", "", 0, steps))
    print(steps, flush=True)
"""


@pytest.mark.parametrize("saves", [1, 20])
def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path, saves):
    path = tmp_path / "c"
    command = [sys.executable, "-c", SAVE_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(saves):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    arrays, card = load(path)
    assert card.steps >= saves - 1
    assert set(arrays["steps"].tolist()) == {card.steps}
