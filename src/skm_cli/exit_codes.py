"""What the exit codes of `skm` mean: the table of the documentation."""

from __future__ import annotations

from typing import Final

EVERY_COMMAND: Final = {
    0: "done; of a mission: it succeeded",
    1: "the command did its work, and the answer is no: a mission failed, a check found something",
    2: "the command could not do its work: wrong arguments, an unreadable mission, a missing file",
    130: "interrupted by Ctrl-C",
    141: "the reader of the output has closed it",
}
OWN: Final = {
    "check": {0: "the mission can be achieved", 1: "it cannot", 2: "it cannot be read"},
    "run": {
        0: "accepted; of a recurring mission: at least one round, and no failure",
        1: "failed, no progress, or its time was up",
        2: "refused: wrong, unknown propositions, not achievable",
    },
    "up": {
        0: "ended by Ctrl-C or SIGTERM",
        1: "a node died again and again, or once with --respawn false",
        2: "the system cannot be started as asked",
    },
    "demo": {
        0: "accepted",
        1: "failed, or its time was up",
        2: "rejected, or it cannot be started",
    },
    "mission": {
        0: "accepted; of a recurring mission: satisfied so far",
        1: "failed, timed out, cancelled, preempted by another mission, or ended by an error",
        2: "rejected, or no system to send it to",
        130: "left by a second Ctrl-C before the result came",
    },
    "event": {
        0: "the mission has taken it",
        1: "refused: not an event of the system, or no mission under way",
        2: "nobody answered in time",
    },
    "place": {
        0: "done",
        1: "refused: no such place, or a domain that is on no map",
        2: "nobody answered in time",
    },
    "verify": {
        0: "the recording agrees, and the mission is satisfied",
        1: "the recording agrees, and the mission is not satisfied",
        2: "it cannot be read, or the mission cannot",
        3: "the recording disagrees with itself",
        4: "something is missing, the rest agrees",
    },
    "monitor": {
        0: "satisfied; or not violated when it ended",
        1: "violated",
        2: "the mission cannot be read, or nothing publishes labels",
        4: "labels were missed: unknown",
    },
    "pause": {0: "it is paused", 2: "nobody answered in time"},
    "resume": {0: "it goes on", 1: "nothing was paused", 2: "nobody answered in time"},
    "doctor": {0: "nothing has to be fixed", 1: "something has"},
    "status": {
        0: "ready for a mission, or running one",
        1: "not ready: a node is missing, or waits for another",
        2: "nothing runs in the namespace",
    },
}
