"""A robot's declared actions, carried out: sent, checked by what is seen, tried again, given up.

An action is begun once the robot stands, and has to end within its time. What it changes is believed
only where nothing shows it; else it has to be seen. What fails is tried again, as often as its file
says; then it is given up for a while, with the reason, and the mission is planned without it. There is
no ROS here: times are of a steady clock, and a `Server` sends and cancels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from skm_sim.maps.actions import ActionSpec, facts_of
from skm_sim.robots.drive import Driving, Entered
from skm_sim.robots.pose import Velocity

PAUSE: Final = 0.5
"""Seconds before an action is tried again."""
ANSWER_SECONDS: Final = 5.0
"""Seconds in which a server must say whether it takes a goal."""
GRACE: Final = 1.0
"""Seconds for which an action goes on without being requested again: a machine that is held up must not
end what an arm has begun."""
GIVEN_UP_SECONDS: Final = 60.0


class Server(Protocol):
    """Who carries actions out; answers come as `on_answer` and `on_result`, with the number."""

    def send(self, number: int, spec: ActionSpec) -> bool:
        """Send a goal; tell whether anybody is there to take it."""
        ...

    def cancel(self, number: int) -> None:
        """Take a goal back."""
        ...


class Phase(Enum):
    """Where an action stands."""

    IDLE = "idle"
    SENT = "sent"
    RUNNING = "running"
    CHECKING = "checking"
    PAUSING = "pausing"


@dataclass
class _Attempts:
    """The attempts at one action."""

    failed: int = 0
    reason: str = ""


class ActionSkills:
    """The facts that hold, and the action under way."""

    def __init__(
        self, specs: Sequence[ActionSpec], server: Server, sensed: Iterable[str] = ()
    ) -> None:
        """`sensed` are the facts that a topic shows: `sense` takes them."""
        self.specs, self._server = tuple(specs), server
        self.facts = facts_of(specs)
        self._sensed = frozenset(sensed)
        self._held: set[str] = set()
        self._wanted = -1
        self._phase = Phase.IDLE
        self._since = self._asked_at = 0.0
        self._number = 0
        self._attempts = _Attempts()
        self._given_up: dict[int, float] = {}
        self.failure = ""
        """Why an action was given up, until another is asked for."""
        self.counts = {"actions sent": 0, "actions failed": 0, "actions given up": 0}

    @property
    def holding(self) -> frozenset[str]:
        """The facts that hold."""
        return frozenset(self._held)

    @property
    def bits(self) -> int:
        """The facts that hold, as a number."""
        return sum(1 << index for index, name in enumerate(self.facts) if name in self._held)

    @property
    def wanted(self) -> bool:
        """Whether an action is asked for, so that the robot has to stand."""
        return self._wanted >= 0 or self._phase is not Phase.IDLE

    @property
    def under_way(self) -> str:
        """The name of the action that is asked for; empty if none is."""
        return self.specs[self._wanted].name if self._wanted >= 0 else ""

    def given_up(self, now: float) -> tuple[int, ...]:
        """Return the actions that were tried without success recently."""
        return tuple(
            sorted(index for index, at in self._given_up.items() if now - at < GIVEN_UP_SECONDS)
        )

    def sense(self, name: str, holds: bool) -> None:
        """Take what a topic shows of a fact."""
        (self._held.add if holds else self._held.discard)(name)

    def want(self, index: int, now: float) -> None:
        """Ask for an action, again and again for as long as it is wanted; −1: for none."""
        self._asked_at = now
        if index == self._wanted:
            return
        self._end()
        self._wanted, self._attempts = index, _Attempts()
        if index >= 0 or self._phase is Phase.IDLE:
            self.failure = ""
        self._given_up.pop(index, None)

    def keep(self, now: float) -> None:
        """Note that somebody still asks for what was asked for."""
        self._asked_at = now

    def forget(self) -> None:
        """End what is under way: the mission is another one."""
        self._end()
        self._wanted = -1
        self.failure = ""

    def _end(self) -> None:
        """Cancel what is under way; no attempt is counted."""
        if self._phase in (Phase.SENT, Phase.RUNNING):
            self._server.cancel(self._number)
        self._phase = Phase.IDLE
        self._number += 1  # what is still heard of it does not matter

    def step(self, now: float, *, go: bool, stopped: bool, stands: bool) -> None:
        """Look after the action, once a period; `go`: the robot may act; `stopped`: it must not."""
        if self._wanted < 0:
            return
        if stopped or (not go and now - self._asked_at > GRACE):
            self._end()
            self._wanted = -1  # until it is asked for again
            return
        spec, waited = self.specs[self._wanted], now - self._since
        if self._wanted in self._given_up:
            return
        if self._phase is Phase.IDLE:
            if stands and go:
                self._send(spec, now)
        elif self._phase is Phase.SENT and waited > ANSWER_SECONDS:
            self._fail(f"{spec.action} has not answered for {ANSWER_SECONDS:g} s", now)
        elif self._phase is Phase.RUNNING and waited > spec.timeout:
            self._fail(f"it took more than {spec.timeout:g} s", now)
        elif self._phase is Phase.CHECKING:
            self._check(spec, waited, now)
        elif self._phase is Phase.PAUSING and waited > PAUSE:
            self._phase = Phase.IDLE

    def _send(self, spec: ActionSpec, now: float) -> None:
        self._number += 1
        self._phase, self._since = Phase.SENT, now
        self.counts["actions sent"] += 1
        if not self._server.send(self._number, spec):
            self._fail(f"nobody serves {spec.action}", now)

    def on_answer(self, number: int, accepted: bool, now: float) -> None:
        """Take a server's answer to a goal."""
        if number != self._number or self._phase is not Phase.SENT:
            return
        if accepted:
            self._phase, self._since = Phase.RUNNING, now
        else:
            self._fail("the goal was rejected", now)

    def on_result(self, number: int, problem: str, now: float) -> None:
        """Take the end of an action: what went wrong, or nothing."""
        if number != self._number or self._phase is not Phase.RUNNING:
            return
        if problem:
            self._fail(problem, now)
            return
        spec = self.specs[self._wanted]
        self._held.update(set(spec.achieves) - self._sensed)
        self._held.difference_update(set(spec.undoes) - self._sensed)
        self._phase, self._since = Phase.CHECKING, now
        self._check(spec, 0.0, now)

    def _check(self, spec: ActionSpec, waited: float, now: float) -> None:
        """Look whether what an action says that it did is seen."""
        missing = [name for name in spec.achieves if name not in self._held]
        missing += [f"not {name}" for name in spec.undoes if name in self._held]
        if not missing:
            self._phase, self._wanted = Phase.IDLE, -1
        elif waited > spec.check:
            self._fail(f"it says that it is done, but {', '.join(missing)} is not seen", now)

    def _fail(self, reason: str, now: float) -> None:
        spec, index = self.specs[self._wanted], self._wanted
        self.counts["actions failed"] += 1
        self._end()
        self._attempts.failed += 1
        self._phase, self._since = Phase.PAUSING, now
        if self._attempts.failed > spec.retries:
            self.counts["actions given up"] += 1
            times = f"{self._attempts.failed} times" if spec.retries else "once"
            self.failure = f"{spec.name} was tried {times} without success: {reason}"
            self._given_up[index] = now
            self._phase = Phase.IDLE


class SkilledDrive:
    """A drive whose robot can do more than go: fits `Driving`, and shows facts with cells.

    An action of the domain from `moves` on is a declared one: for it the robot stands.
    """

    def __init__(self, drive: Driving, skills: ActionSkills, cells: int, moves: int) -> None:
        self._drive, self.skills = drive, skills
        self._cells, self._moves = cells, moves
        self._inner = Entered(0, frozenset())
        self._shown: Entered | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else is as the drive has it
        return getattr(self._drive, name)

    def take(self, action: int, now: float) -> None:
        """Take the action to the present state."""
        index = int(action) - self._moves
        self.skills.want(max(index, -1), now)
        if index < 0:
            self._drive.take(action, now)

    def obstructed(self, now: float) -> bool:
        """Tell whether what stands ahead keeps the robot from going where it is to go."""
        return not self.skills.wanted and self._drive.obstructed(now)

    def begin(self, now: float) -> Entered:
        """Begin anew where the robot is."""
        self.skills.forget()
        self._inner = self._drive.begin(now)
        self._shown = self._with_facts(self._inner)
        return self._shown

    def states(self, now: float, *, resting: bool) -> list[Entered]:
        """Return the states that were entered since the last call, also by what actions changed."""
        entered = []
        for state in self._drive.states(now, resting=resting or self.skills.wanted):
            self._inner = state
            entered.append(self._with_facts(state))
        if not entered and self._shown is not None:
            now_shown = self._with_facts(self._inner)
            entered = [now_shown] if now_shown != self._shown else []
        if entered:
            self._shown = entered[-1]
        return entered

    def velocity(self, now: float) -> Velocity:
        """Return the command for the next period: none while an action is asked for."""
        if self.skills.wanted:
            return self._drive.halt()
        return self._drive.velocity(now)

    def _with_facts(self, state: Entered) -> Entered:
        value = self.skills.bits * self._cells + int(state.value)
        return Entered(value, state.labels | self.skills.holding)
