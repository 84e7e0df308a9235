"""The commands that need ROS, where there is none; and what they are made of that does not need it."""

import sys
from contextlib import ExitStack

import pytest

from skm_bench.captured_process import CapturedProcess
from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_ros.client import private_domain


@pytest.mark.parametrize(
    "command",
    [["mission", "F A"], ["status"], ["bench", "loop"], ["bench", "realtime"], ["up", "demo"]],
    ids=lambda c: c[0],
)
@pytest.mark.parametrize("missing", ["rclpy", "skm.msg"])
def test_without_ros_the_way_out_is_named(command, missing, monkeypatch, capsys):
    """Exit code 2 and `make demo`, whether ROS itself or skm's own interfaces are missing."""
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(command) == 2
    captured = capsys.readouterr()
    assert "make demo" in captured.err
    assert captured.out == ""


def test_domain_ids_are_never_shared(monkeypatch):
    """Each holder has its own; when all are taken the next is told so; what is let go is there again."""
    monkeypatch.setattr(private_domain, "FIRST", 500)
    monkeypatch.setattr(private_domain, "LAST", 502)
    with ExitStack() as held:
        numbers = {held.enter_context(private_domain.private_domain_id()) for _ in range(3)}
        assert numbers == {500, 501, 502}
        with pytest.raises(SkmError, match="all 3 ROS domain ids"):
            held.enter_context(private_domain.private_domain_id())
    with private_domain.private_domain_id() as number:
        assert number in numbers


def test_a_captured_process_answers_and_is_ended():
    """Both outputs are kept apart; an interrupt ends it; its death is an error with its last words."""
    code = "import sys; print(input(), flush=True); print('so be it', file=sys.stderr); input()"
    process = CapturedProcess([sys.executable, "-c", code], private_domain.private_environment(500))
    process.send_line("hello")
    while not (process.answers and process.output):
        process.check_running()
    assert (process.answers, process.output) == (["hello"], ["so be it"])
    assert process.stop() != 0
    with pytest.raises(SkmError, match="so be it"):
        process.check_running()
