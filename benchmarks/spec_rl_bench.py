"""skm's skills in SpecRLBench's own environments: the point robot among static and moving zones.

    git clone https://github.com/BU-DEPEND-Lab/SpecRLBench
    python3.10 -m venv theirs
    theirs/bin/pip install mujoco==2.3.3 gymnasium==0.28.1 'numpy<2' xmltodict pyyaml imageio \
        pygame scipy pettingzoo
    python benchmarks/spec_rl_bench.py SpecRLBench --python theirs/bin/python --starts 50

Nothing of theirs is here: `spec_rl_bench_server.py` runs their environment by their Python, and
`PeersZonesEnv` reads its state from what it shows. A row for each environment and task: share of
successes, of violations, of walls, and mean steps of 0.02 s. Tasks are the finite ones of GenZ-LTL,
phi9 to phi16.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from skm_machine import compile_mission
from skm_primitives import load_primitives, make_policy, run_episode
from skm_primitives.evaluation.statistics import proportion_interval
from skm_primitives.skills.values import Primitives
from skm_sim import get_domain
from skm_sim.zones.peers_env import PeersZonesEnv
from skm_sim.zones.spec import COLOURS_OF_TASKS, FINITE, MAX_STEPS

ENVIRONMENTS: Final = [
    f"PointLTL{level}-v0{suffix}" for suffix in ("", ".overlap") for level in (0, 1, 2)
]
EVALUATION_SEED: Final = 2029


class Theirs:
    """An environment of theirs, in a process of its own."""

    def __init__(self, python: str, clone: Path, name: str) -> None:
        server = Path(__file__).with_name("spec_rl_bench_server.py")
        self._process = subprocess.Popen(
            [python, str(server), str(clone), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def reset(self, *, seed: int | None = None) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Start an episode in an arena drawn from the seed."""
        answer = self._asked({"seed": seed})
        return answer["seen"], {"propositions": answer["shown"]}

    def step(
        self, action: NDArray[Any]
    ) -> tuple[Mapping[str, Any], float, bool, bool, dict[str, Any]]:
        """Take a step of 0.02 s."""
        answer = self._asked({"action": action.tolist()})
        info = {"propositions": answer["shown"]}
        return answer["seen"], 0.0, answer["ended"], answer["cut"], info

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process.stdin is not None, "it was opened with pipes"
        assert process.stdout is not None, "it was opened with pipes"
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit(
                f"their environment ended with {process.wait()}; run the server by hand."
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="of theirs")
    parser.add_argument("--python", required=True, help="that has what theirs needs")
    parser.add_argument("--only", nargs="+", default=ENVIRONMENTS, metavar="ENVIRONMENT")
    parser.add_argument("--tasks", nargs="+", choices=FINITE, default=list(FINITE))
    parser.add_argument("--starts", type=int, default=50, help="arenas of each task")
    parser.add_argument("--checkpoint", type=Path, help="default: the skills of zones")
    parser.add_argument("--domain", default="zones", help="whose skills these are")
    args = parser.parse_args()
    torch.set_num_threads(1)
    skills = load_primitives(get_domain(args.domain), args.checkpoint)
    print("| environment | task | success | 95 % | violated | walls | steps |")
    print("|---|---|---|---|---|---|---|")
    for name in args.only:
        theirs = Theirs(args.python, args.clone, name)
        outcomes: Counter[str] = Counter()
        for task in args.tasks:
            found, steps = run(PeersZonesEnv(theirs), skills, FINITE[task], args.starts)
            outcomes += found
            print(_row(name, task, found, f"{steps:.0f}"), flush=True)
        print(_row(name, "all", outcomes, "–"), flush=True)
        theirs.close()


def run(
    env: PeersZonesEnv, skills: Primitives, formula: str, starts: int
) -> tuple[Counter[str], float]:
    """Return how often a mission ended in which way, and the mean steps of those that were accepted."""
    policy = make_policy(compile_mission(formula, propositions=COLOURS_OF_TASKS), skills)
    found: Counter[str] = Counter()
    taken = []
    for number in range(starts):
        seed = EVALUATION_SEED + number
        episode = run_episode(env, skills, policy, max_steps=MAX_STEPS, seed=seed)
        found[episode.outcome] += 1
        if episode.outcome == "accepted":
            taken.append(episode.steps)
    return found, float(np.mean(taken)) if taken else 0.0


def _row(name: str, task: str, found: Counter[str], steps: str) -> str:
    count, done = found.total(), found["accepted"]
    low, high = proportion_interval(done, count)
    rates = f"{done / count:.3f} | {low:.3f}–{high:.3f}"
    lost = f"{found['failed'] / count:.3f} | {found['world ended'] / count:.3f}"
    return f"| {name} | {task} | {rates} | {lost} | {steps} |"


if __name__ == "__main__":
    sys.exit(main())
