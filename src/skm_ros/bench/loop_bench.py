"""Measuring the loop of the nodes against the bare loop, round by round in turn."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final, Protocol, Self

from skm.action import ExecuteMission

from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives import Primitives, load_primitives, make_policy, run_episode
from skm_ros.bench.captured_process import CapturedProcess
from skm_ros.bench.private_domain import private_domain_id, private_environment
from skm_ros.client.mission_goal import MissionGoal
from skm_ros.client.ros_client import RosClient
from skm_ros.conversions import OUTCOMES
from skm_sim import DomainSpec, get_domain

START_SECONDS: Final = 60.0
STEP_SECONDS: Final = 0.5
"""A loop that takes longer than this for a step, on average, is taken to be stuck."""
LOOK_SECONDS: Final = 0.05
"""How often it is looked whether a round is over: the same for both loops, and all that is done while
they run."""
SETTLE_SECONDS: Final = 0.25
"""How long the nodes have to get to know a new client before its mission begins: that is no step."""
HOPS: Final = 4
"""Messages one after the other in a step: observation (with labels), query, answer, action."""


VARIANTS: Final = {
    "three_processes": ((), "apart"),
    "single_process": (("--single-process",), "all"),
}
"""Options of `skm up`, and the form of the bare loop, by variant."""

Say = Callable[[str], None]


class Loop(Protocol):
    """Something that can be asked to take steps."""

    def seconds(self, steps: int) -> float:
        """Take so many steps and return how long they took."""
        ...


class BareLoop:
    """`skm_ros.bench.bare_loop` in one of its forms, with messages of the sizes of these primitives."""

    def __init__(self, primitives: Primitives, form: str) -> None:
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        sizes = [str(len(primitives.goals)), str(primitives.action_space.n)]  # type: ignore[attr-defined]
        command = [sys.executable, "-m", "skm_ros.bench.bare_loop", form, *sizes]
        environment = private_environment(domain_id)
        self._child = CapturedProcess([*command, *primitives.propositions], environment)
        self._stack.callback(self._child.stop)

    def seconds(self, steps: int) -> float:
        """Ask the simulator's part for a round."""
        sim = self._child
        before = len(sim.answers)
        sim.send_line(str(steps))
        deadline = time.monotonic() + START_SECONDS + STEP_SECONDS * steps
        while len(sim.answers) == before:
            sim.check_running()
            if time.monotonic() > deadline:
                raise SkmError(f"the bare loop took no {steps} steps in time")
            time.sleep(LOOK_SECONDS)
        return float(sim.answers[before])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class NodeLoop:
    """A system started by `skm up`, and a client that sends it missions."""

    def __init__(self, domain: str, mission: str, options: Sequence[str]) -> None:
        self._mission = mission
        self._stack = ExitStack()
        domain_id = self._stack.enter_context(private_domain_id())
        command = [sys.executable, "-m", "skm_cli.main", "up", "demo", "--domain", domain]
        quiet = ["--mission", "", "--render", "none", "--mode", "lockstep"]
        environment = private_environment(domain_id)
        self._child = CapturedProcess([*command, *quiet, *options], environment)
        self._stack.callback(self._child.stop)
        self._client = self._stack.enter_context(RosClient(domain_id=domain_id))

    def seconds(self, steps: int) -> float:
        """Run the mission over and over for so many steps; the machine tells how long it took."""
        goal = ExecuteMission.Goal(mission=self._mission, repeat=True, max_steps=steps)
        mission = MissionGoal(self._client, goal)
        self._client.spin_until(lambda: False, SETTLE_SECONDS)
        mission.send(START_SECONDS)

        def ended() -> bool:
            self._child.check_running()
            if not mission.done:  # what is said on the way is taken at once, then
                time.sleep(LOOK_SECONDS)
            return mission.done

        in_time = self._client.spin_until(ended, START_SECONDS + STEP_SECONDS * steps)
        result = mission.result if in_time else None
        mission.close()
        if result is None or result.steps != steps:
            what = "nothing" if result is None else f"{OUTCOMES[result.outcome]}: {result.reason}"
            raise SkmError(f"the nodes were to take {steps} steps; instead, {what}")
        return float(result.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def compare(loop: Loop, bare: Loop, steps: int, rounds: int) -> dict[str, Any]:
    """Return the rates of both from rounds in turn, after a short one to warm up.

    The median round counts: a shared machine has slow moments, and both loops are in them. The fastest
    rounds, of which the machine disturbed least, are compared as well.
    """
    for each in (loop, bare):
        each.seconds(max(1, steps // 10))
    pairs = [(loop.seconds(steps), bare.seconds(steps)) for _ in range(rounds)]
    loop_seconds, bare_seconds = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "steps_per_second": steps / loop_seconds,
        "bare_steps_per_second": steps / bare_seconds,
        "overhead": loop_seconds / bare_seconds,
        "overhead_of_fastest_rounds": min(ours for ours, _ in pairs)
        / min(bare for _, bare in pairs),
        "rounds": [{"seconds": ours, "bare_seconds": bare} for ours, bare in pairs],
    }


def measure_loops(domain: str, mission: str, steps: int, rounds: int, say: Say) -> dict[str, Any]:
    """Return the rates of the nodes as three processes and as one, and of the loop in process."""
    spec = get_domain(domain)
    primitives = load_primitives(spec)
    document: dict[str, Any] = {
        "domain": spec.name,
        "mission": mission,
        "steps_per_round": steps,
        "hops": HOPS,
        "goals": len(primitives.goals),
    }
    for variant, (options, form) in VARIANTS.items():
        say(f"measuring {variant.replace('_', ' ')}")
        with NodeLoop(spec.name, mission, options) as loop, BareLoop(primitives, form) as bare:
            document[variant] = compare(loop, bare, steps, rounds)
    rate = in_process_rate(spec, primitives, mission, steps)
    return {**document, "in_process": {"steps_per_second": rate}}


def in_process_rate(spec: DomainSpec, primitives: Primitives, text: str, steps: int) -> float:
    """Return the steps per second of the same mission with no ROS at all, planning left out."""
    mission = compile_mission(text, propositions=spec.propositions, repeat=True)
    policy = make_policy(mission, primitives)
    env = spec.make()
    began = time.perf_counter()
    episode = run_episode(env, primitives, policy, max_steps=steps, seed=0)
    seconds = time.perf_counter() - began
    env.close()
    return episode.steps / seconds
