"""What the exit codes of `skm` mean: the table of the documentation."""

from __future__ import annotations

from typing import Final

EVERY_COMMAND: Final = {
    0: "success",
    1: "the result is negative: a mission failed, or a check found a problem",
    2: "the command could not run: wrong arguments, an invalid mission, a missing file",
    130: "interrupted by Ctrl-C",
    141: "the reader of the output closed the pipe",
}
OWN: Final = {
    "check": {
        0: "the mission is possible",
        1: "the mission is impossible, or the trace does not satisfy it",
        2: "the mission is invalid",
    },
    "run": {
        0: "accepted; for a recurring mission: at least one round, and no failure",
        1: "failed, no progress, or out of steps",
        2: "refused: invalid, unknown propositions, or impossible",
    },
    "up": {
        0: "ended by Ctrl-C or SIGTERM",
        1: "a node died repeatedly, or once with --respawn false",
        2: "the system cannot be started",
    },
    "demo": {
        0: "accepted",
        1: "failed, or out of time",
        2: "rejected, or the nodes cannot be started",
    },
    "mission": {
        0: "accepted; for a recurring mission: at least one round when the time was up",
        1: "failed, timed out, cancelled, replaced by another mission, or ended by an error",
        2: "rejected, or no system is running",
        130: "a second Ctrl-C came before the result",
    },
    "event": {
        0: "the mission has read the event",
        1: "refused: not an event of the system, or no mission is running",
        2: "no answer in time",
    },
    "place": {
        0: "done",
        1: "refused: no such place, or the domain has no map",
        2: "no answer in time",
    },
    "verify": {
        0: "the recording is consistent, and the mission is satisfied",
        1: "the recording is consistent, and the mission is not satisfied",
        2: "the recording or the mission cannot be read",
        3: "the recording is inconsistent",
        4: "something is missing, and the rest is consistent",
    },
    "monitor": {
        0: "satisfied, or not violated at the end",
        1: "violated",
        2: "the mission is invalid, or nothing publishes labels",
        4: "unknown, because labels were missed",
    },
    "queue": {
        0: "done",
        1: "refused: no such mission, or no such position",
        2: "no answer in time",
    },
    "pause": {0: "paused", 2: "no answer in time"},
    "resume": {0: "resumed", 1: "nothing was paused", 2: "no answer in time"},
    "doctor": {0: "no problems", 1: "there are problems to fix"},
    "status": {
        0: "ready for a mission, or running one",
        1: "not ready: a node is missing, or waits for another one",
        2: "no system is running in the namespace",
    },
}


def exit_codes_text(command: str) -> str:
    """Return the table of a command's exit codes, for its help."""
    codes = OWN.get(command) or {code: EVERY_COMMAND[code] for code in (0, 1, 2)}
    rows = [f"  {code:<5}{meaning}" for code, meaning in codes.items()]
    return "\n".join(["exit codes:", *rows])
