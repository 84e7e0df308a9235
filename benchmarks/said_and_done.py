"""What is said of a mission under way, against what comes: the goal that is named, and the steps to it.

    python benchmarks/said_and_done.py safety zones moving_targets office --runs 10

Runs each domain's tasks in process with the product planner, and compares, at every step, the sentence's
goal and steps with the next move of the machine that a goal was pursued for.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skm_machine.mission import compile_mission
from skm_primitives.execution.episodes import run_episode
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.narration import RunNarrator
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.shield import make_shield
from skm_primitives.skills.loading import load_primitives
from skm_sim.registry import get_domain


@dataclass
class Listener:
    """Takes part in a run, and keeps what was announced and what came."""

    said: list[tuple[int, frozenset[str], int | None, str]] = field(default_factory=list)
    shown: list[frozenset[str]] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    ending: str = ""

    def begin(self, run: MissionRun, observation: Any, labels: frozenset[str]) -> None:  # noqa: ANN401, ARG002
        """Take the first state."""
        self.narrator = RunNarrator(run, lambda: 0.1)
        self.shown.append(labels)

    def decided(self, run: MissionRun, action: Any) -> None:  # noqa: ANN401, ARG002
        """Note what is said."""
        named, steps = frozenset(self.narrator.named), self.narrator.steps
        self.said.append((run.tracker.steps, named, steps, self.narrator.where))

    def entered(
        self,
        run: MissionRun,
        observation: Any,  # noqa: ANN401, ARG002
        labels: frozenset[str],
        *,
        moved: bool,
        terminated: bool,  # noqa: ARG002
        truncated: bool,  # noqa: ARG002
    ) -> None:
        """Note what came."""
        self.shown.append(labels)
        if moved:
            self.moves.append(run.tracker.steps)

    def end(self, run: MissionRun, outcome: str, reason: str = "") -> None:  # noqa: ARG002
        """Note how it ended, in words."""
        self.ending = self.narrator.ended(outcome)


def main() -> None:
    """Run and print a line for each task."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("domains", nargs="+")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument(
        "--show", type=int, default=0, help="sentences to print, every so many steps"
    )
    args = parser.parse_args()
    for name in args.domains:
        spec = get_domain(name)
        skills = load_primitives(spec)
        env = spec.make()
        for number, task in enumerate(spec.tasks.values(), start=1):
            mission = compile_mission(task.formula, propositions=spec.propositions)
            off: list[float] = []
            told = right = changed = failed = 0
            for seed in range(args.runs):
                listener = Listener()
                run_episode(
                    env,
                    skills,
                    make_policy(mission, skills),
                    max_steps=args.steps,
                    seed=seed,
                    shield=make_shield(mission, skills),
                    recorder=listener,
                )
                failed += listener.ending.startswith("Failed")
                if args.show:
                    for step, _, _, sentence in listener.said[:: args.show]:
                        print(f"    {step:4} {sentence}")
                    print(f"         {listener.ending}  moves {listener.moves[:8]}")
                names = {step: named for step, named, *_ in listener.said}
                for step, named, steps, _ in listener.said:
                    after = next((move for move in listener.moves if move > step), None)
                    if after is None or not named or steps is None:
                        continue
                    told += 1
                    came = named <= listener.shown[after]
                    right += came
                    changed += not came and names[max(s for s in names if s < after)] != named
                    off.append(steps - (after - step))
            if not off:
                print(f"{name} {number}: nothing said")
                continue
            low, middle, high = np.percentile(off, (25, 50, 75))
            print(
                f"{name} {number}: {told} said, the goal came {right / told:.3f}, another was chosen"
                f" later {changed / told:.3f}, something else came upon the way"
                f" {(told - right - changed) / told:.3f}; steps said minus taken: median {middle:+.0f},"
                f" middle half {low:+.0f} to {high:+.0f}; {failed} failed",
                flush=True,
            )
        env.close()


if __name__ == "__main__":
    main()
