"""What cannot be made again is never replaced unasked: recordings, domains, checkpoints."""

import pytest

from skm_cli.main import main
from skm_primitives.recording.cdr import ExistingRecordingError
from skm_primitives.recording.files import RunWriter


def skm(*arguments):
    return main([str(argument) for argument in arguments])


def test_a_recording_is_replaced_only_with_overwrite(tmp_path, capsys):
    path = tmp_path / "run.mcap"
    assert skm("run", "office", "F A", "--record", path) == 0
    before = path.read_bytes()
    assert skm("run", "office", "F B", "--record", path) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert skm("run", "office", "F B", "--record", path, "--overwrite") == 0
    assert path.read_bytes() != before
    assert skm("verify", path) == 0


def test_nothing_is_run_for_a_recording_that_cannot_be_kept(tmp_path, capsys):
    path = tmp_path / "mine.mcap"
    path.write_text("of somebody's own")
    assert skm("run", "office", "F A", "--record", path, "--json") == 2
    assert '"error"' in capsys.readouterr().out
    assert path.read_text() == "of somebody's own"


def test_two_recorders_never_write_one_file(tmp_path):
    """Whoever comes second is refused, also if the file was not there when it looked."""
    with RunWriter(tmp_path / "run.mcap"), pytest.raises(ExistingRecordingError):
        RunWriter(tmp_path / "run.mcap")


def test_a_domain_is_replaced_only_with_overwrite(tmp_path, capsys):
    folder = tmp_path / "hall"
    example = ("map", "--example", "--cell", "0.5", "--no-picture", "--out", folder)
    assert skm(*example) == 0
    own = folder / "places.yaml"
    own.write_text(own.read_text() + "# of somebody's own\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert skm(*example) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert skm(*example, "--overwrite") == 0
    assert "of somebody's own" not in own.read_text()


def test_files_that_are_no_domain_are_replaced_by_no_option(tmp_path, capsys):
    (tmp_path / "map.yaml").write_text("of somebody's own")
    example = ("map", "--example", "--cell", "0.5", "--no-picture", "--out", tmp_path)
    assert skm(*example) == 2
    assert skm(*example, "--overwrite") == 2
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "map.yaml").read_text() == "of somebody's own"
