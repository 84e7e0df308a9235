"""Gridworlds of many cells: what learning and planning take, and how near to the optimum missions are.

    python benchmarks/large_worlds.py --sides 40 100 200 --missions 20 --episodes 50 --json

Each world is a square of cells with walls, eight places and a wet stripe, that of
`test/helpers/large_grid.py`. It is learned and measured in a process of its own, so that the memory is
its own, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from skm_cli.output import console, plain_table, print_json
from skm_primitives.evaluation import EvaluationOptions, evaluate
from skm_primitives.learning.training import make_learner, train

sys.path.append(str(Path(__file__).resolve().parent.parent / "test" / "helpers"))


def measured(side: int, missions: int, episodes: int, seed: int) -> dict[str, Any]:
    """Learn one world, then run missions in it; return what it took."""
    from large_grid import grid_spec  # noqa: PLC0415 (in the folder of tests)

    spec = grid_spec(side)
    idle = peak_megabytes()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "grid.safetensors"
        began = time.process_time()
        learner = make_learner(spec, {}, out, resume=False, overwrite=False)
        if train(learner, learner.default_steps, out, "benchmarks/large_worlds.py").interrupted:
            raise KeyboardInterrupt
        learned, memory = time.process_time(), peak_megabytes()
        options = EvaluationOptions(checkpoint=out, missions=missions, episodes=episodes, seed=seed)
        found = evaluate(spec, options)
        return {
            "side": side,
            "training_cpu_seconds": round(learned - began, 1),
            "training_megabytes": round(memory - idle, 1),
            "checkpoint_megabytes": round(out.stat().st_size / 1e6, 2),
            "success": found.success,
            "return_ratio": found.return_ratio,
            "runs_cpu_seconds": round(time.process_time() - learned, 1),
            "runs_megabytes": round(peak_megabytes() - idle, 1),
        }


def peak_megabytes() -> float:
    """Return the most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measure every side, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sides", type=int, nargs="+", default=[40, 100, 200])
    parser.add_argument("--missions", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=50, help="starts of each mission")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        sizes = given.missions, given.episodes, given.seed
        print_json(measured(given.sides[0], *sizes))
        return 0
    options = [f"--{name}={getattr(given, name)}" for name in ("missions", "episodes", "seed")]
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, __file__, "--here", "--sides", str(side), *options],
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
        )
        for side in given.sides
    ]
    if given.json:
        print_json(found)
    else:
        headers = ["side", "training, CPU s", "MB", "file, MB", "success", "return / optimum"]
        table = plain_table("worlds of many cells", [*headers, "runs, CPU s", "MB"])
        for row in found:
            table.add_row(*(f"{value:g}" for value in row.values()))
        console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
