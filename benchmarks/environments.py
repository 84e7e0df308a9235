"""Environments that nobody here wrote: lines of a user's code, CPU seconds of learning, and success.

    python benchmarks/environments.py                          all; the finite ones take half a minute
    python benchmarks/environments.py --only taxi:TAXI door_key:DOOR_KEY

Those of examples/environments. Each is trained by `skm train` with default settings; where networks
learn, with as many steps as are meant to take a few CPU minutes (Pong: 100,000 steps, which is a trial
of the machinery, not of playing). Each is evaluated by `skm eval`: where the world is finite on 20
missions drawn from the domain, beside the optimum; else on the missions of its file, from 25 starts
each. What is done is kept in --out, and not done again. Exits with 1 if one of them fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent.parent / "examples" / "environments"
FINITE: Final = ["--missions", "20", "--seed", "0"]
TASKS: Final = ["--episodes", "25", "--seed", "0"]
ENVIRONMENTS: Final[dict[str, tuple[list[str], list[str]]]] = {
    "frozen_lake:SMOOTH": ([], FINITE),
    "frozen_lake:SLIPPERY": ([], FINITE),
    "taxi:TAXI": ([], FINITE),
    "cliff_walking:DRY": ([], FINITE),
    "cliff_walking:SLIPPERY": ([], FINITE),
    "door_key:DOOR_KEY": (["--steps", "240000"], TASKS),
    "door_key:DOOR_KEY_8": (["--steps", "400000"], TASKS),
    "unlock_pickup:UNLOCK_PICKUP": (["--steps", "400000"], TASKS),
    "fetch_reach:FETCH_REACH": (["--steps", "80000"], TASKS),
    "parking:PARKING": (["--steps", "60000"], TASKS),
    "mountain_car:MOUNTAIN_CAR": (["--steps", "240000"], TASKS),
    "swimmer:SWIMMER": (["--steps", "150000"], TASKS),
    "pong:PONG": (["--steps", "100000"], ["--episodes", "1", "--seed", "0"]),
}
"""How each is trained and evaluated."""


def main() -> int:
    """Measure what is asked for; print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--out", type=Path, default=Path("runs/environments"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [_row(name, args.out) for name in args.only]
    print("| environment | lines | steps | CPU s | missions | success | best | return | violated |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return int(any("failed" in row for row in rows))


def _row(name: str, out: Path) -> tuple[str, ...]:
    train, evaluate = ENVIRONMENTS[name]
    lines = (FOLDER / f"{name.partition(':')[0]}.py").read_text(encoding="utf-8").splitlines()
    count = str(sum(bool(line.strip()) for line in lines[1:]))
    kept = out / f"{name.replace(':', '_')}.json"
    checkpoint = out.resolve() / name.replace(":", "_").lower()
    if not kept.exists():
        try:
            trained = _skm("train", name, *train, "--out", str(checkpoint), "--overwrite")
            found = _skm("eval", name, *evaluate, "--checkpoint", str(checkpoint))
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error.stderr}", file=sys.stderr)
            return name, count, *[""] * 6, "failed"
        kept.write_text(json.dumps({"train": trained, "eval": found}, indent=1))
    measured = json.loads(kept.read_text())
    return name, count, *_measured(measured["train"], measured["eval"])


def _measured(trained: dict[str, Any], found: dict[str, Any]) -> tuple[str, ...]:
    """Return steps, CPU seconds, missions, success, its best, return over optimum, violations."""
    costs = str(trained["steps"]), f"{trained['cpu_used']:.0f}"
    if "missions" in found:
        best, ratio = found["best_success"], found["return_ratio"]
        shown = "–" if ratio is None else f"{ratio:.3f}"
        rates = f"{found['success']:.3f}", f"{best:.3f}", shown, str(found["violations"])
        return *costs, f"{len(found['missions'])}", *rates
    tasks = found["tasks"]
    success = " ".join(f"{task['success']:.2f}" for task in tasks)
    violated = " ".join(f"{task.get('violations', 0):.2f}" for task in tasks)
    return *costs, f"{len(tasks)}", success, "–", "–", violated


def _skm(*arguments: str) -> dict[str, Any]:
    """Run a command; return what it tells, and the CPU seconds that it took."""
    command = [sys.executable, "-m", "skm_cli.main", *arguments, "--json"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    path = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(after[:2]) - sum(before[:2])
    print(
        f"skm {' '.join(arguments)}: {used:.0f} CPU s, {time.monotonic() - began:.0f} s",
        file=sys.stderr,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return {**result, "cpu_used": used}


if __name__ == "__main__":
    sys.exit(main())
