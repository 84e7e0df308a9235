"""Missions with bounds in seconds through real nodes, compared with the stamps that were recorded.

On the system `robot`, a robot on a map, and on a simulator in real time. Half of the missions are meant
to fail: their time is too short, or the robot is stopped until it is over.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from skm.action import ExecuteMission
from std_srvs.srv import Trigger

from skm_bench.processes import START_SECONDS, BenchSystem
from skm_primitives.recording.by_definition import Comparison, compared
from skm_primitives.recording.files import read_recording, recorded_missions
from skm_primitives.recording.verification import verify_mission
from skm_ros.client.mission_goal import SETTLE_SECONDS, MissionGoal
from skm_ros.conversions import OUTCOMES
from skm_ros.topic_recorder import TopicRecorder

MOST_SECONDS: Final = 60.0
"""No mission here takes longer."""


@dataclass(frozen=True)
class TimedMission:
    """A mission to try."""

    text: str
    meant: str
    """What it is meant to come to: `accepted` or `failed`."""
    planner: str = ""
    hold: bool = False
    """Whether the robot is stopped while it runs."""
    seed: int | None = None


@dataclass(frozen=True)
class TimedResult:
    """What came of it."""

    mission: TimedMission
    outcome: str
    reason: str
    comparison: Comparison | None
    """None if it never began."""
    verified: str
    """What `skm verify` says of the recording."""

    @property
    def agrees(self) -> bool:
        """Whether node, definition and verification say the same."""
        compared = self.comparison is not None and self.comparison.agrees
        return compared and self.verified in ("agrees", "not satisfied")


class SecondsBench:
    """Runs missions one after the other on a system that is up; use it in a `with` statement.

    One recorder listens all the while, so that no mission begins before it is heard; each has a file.
    """

    def __init__(self, system: BenchSystem) -> None:
        self._system = system
        self._folder = tempfile.TemporaryDirectory()
        self._recorder = TopicRecorder(system.client.node, Path(self._folder.name))
        topics = "labels", "observation", "mission_log", "action"
        system.until(lambda: self._recorder.hears(*topics), START_SECONDS, "a recorder that hears")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.close()
        self._folder.cleanup()

    def run(self, mission: TimedMission) -> TimedResult:
        """Run one mission to its end."""
        system, recorder = self._system, self._recorder
        goal = ExecuteMission.Goal(mission=mission.text, max_seconds=MOST_SECONDS)
        goal.planner = mission.planner
        if mission.seed is not None:
            goal.reset, goal.seed = True, mission.seed
        sent = MissionGoal(system.client, goal)
        system.until(lambda: sent.machine_is_ready, START_SECONDS, "a machine that is ready")
        if mission.hold:
            system.client.call(Trigger, "stop", Trigger.Request(), START_SECONDS)
        sent.send(START_SECONDS)
        system.until(lambda: sent.done, START_SECONDS + MOST_SECONDS, "the mission's end")
        if mission.hold:
            system.client.call(Trigger, "resume", Trigger.Request(), START_SECONDS)
        result, known = sent.result, sent.goal_id
        sent.close()
        system.client.spin_until(lambda: not recorder.open_files, SETTLE_SECONDS)
        comparison, verified = None, "nothing was recorded"
        for path in recorder.files[-1:]:
            file = read_recording(path)
            if file.metadata.get("skm.mission", {}).get("goal_id") == known:
                comparison = next(iter(compared(file)), None)
                verified = "; ".join(
                    found.result + "".join(f" ({d.kind}: {d.text})" for d in found.disagreements)
                    for found in map(verify_mission, recorded_missions(file))
                )
        return TimedResult(mission, OUTCOMES[result.outcome], result.reason, comparison, verified)


def robot_missions(
    rng: random.Random, seconds_to: Callable[[], dict[str, float]]
) -> Iterator[TimedMission]:
    """Yield missions for a robot among places, forever: one that should do, one that should not.

    `seconds_to` says how long the way to each place takes from where the robot is, as it is expected.
    """
    while True:
        name, away = _near(rng, seconds_to())
        other = rng.choice([place for place in seconds_to() if place != name])
        long, stay = round(1.6 * away + 4, 1), rng.choice([1, 2, 3.5])
        yield TimedMission(
            rng.choice(
                [
                    f"F[0s,{long}s] {name}",
                    f"F({name} & X G[0s,{stay}s] {name})",
                    f"F[{stay}s,{long + stay}s] {name}",
                    f"F {name} & G[0s,{stay}s] !{other}",
                    f"true U[0s,{long}s] ({name} & X G[0s,{stay}s] true)",
                    f"G[0s,{stay}s] true",
                    f"F({name} & F[0s,{long}s] {name})",
                ]
            ),
            "accepted",
        )
        name, away = _near(rng, seconds_to())
        short = round(rng.uniform(0.2, 0.5) * max(away, 1.5), 1)
        doomed = rng.choice(
            [
                TimedMission(f"F[0s,{short}s] {name}", "failed", "paper"),
                TimedMission(f"F[0s,{long}s] {name}", "failed", hold=True),
                TimedMission(f"F[0s,{short}s] {name} & F {other}", "failed", "paper"),
                TimedMission(f"!{other} U[0s,{short}s] {name}", "failed", "paper"),
                TimedMission(f"F[0s,{long}s]({name} & X G[0s,1s] {name})", "failed", hold=True),
            ]
        )
        yield doomed


def _near(rng: random.Random, seconds: dict[str, float]) -> tuple[str, float]:
    """Return one of the places that are near, but where the robot is not yet."""
    away = sorted((time, name) for name, time in seconds.items() if time > 0)
    time, name = rng.choice(away[:3])
    return name, time


def arena_missions(rng: random.Random, names: tuple[str, ...]) -> Iterator[TimedMission]:
    """Yield missions for a simulator with objects to touch, forever, each in a world of its own."""
    seed = rng.randrange(1000)
    while True:
        name, other = rng.sample(names, 2)
        stay = rng.choice([0.4, 1, 2])
        yield TimedMission(
            rng.choice(
                [
                    f"F[0s,18s] {name}",
                    f"F {name} & G[0s,{stay}s] (true)",
                    f"F[{stay}s,18s] {name}",
                    f"G[0s,{stay}s] !({name} & {other})",
                    f"F({name} & F[0s,15s] !{name})",
                ]
            ),
            "accepted",
            seed=seed,
        )
        yield TimedMission(
            rng.choice(
                [
                    f"F[0s,0.3s] {name}",
                    f"F[0s,0.4s]({name} & {other})",
                    f"!{other} U[0s,0.3s] {name}",
                    f"G[0s,15s] F[0s,0.2s] {name}",
                ]
            ),
            "failed",
            "paper",
            seed=seed + 1,
        )
        seed += 2
