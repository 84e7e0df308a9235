"""`skm train --seeds`: a run for each seed, by several workers."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from skm_cli.output import print_json, steps_bar


def train_seeds(args: argparse.Namespace, options: dict[str, Any], out: Path) -> int:
    """Train several seeds, by several workers; the exit code is 130 if that was interrupted."""
    from skm_primitives.learning.training import seed_jobs  # noqa: PLC0415
    from skm_primitives.workers import Job, run_jobs  # noqa: PLC0415

    modes = {"resume": args.resume, "overwrite": args.overwrite}
    command, stem = shlex.join(["skm", *sys.argv[1:]]), out.with_suffix("")
    jobs = seed_jobs(args.domain, args.seeds, options, args.steps, stem, modes, command)
    results: dict[str, Any] = {}
    with steps_bar("seed") as progress:
        bar = progress.add_task(f"train {args.domain}", total=len(jobs))

        def done(job: Job, found: dict[str, Any]) -> None:
            results[job.key] = found
            progress.advance(bar)

        try:
            run_jobs(jobs, args.workers or 1, done)
        except KeyboardInterrupt:
            print("skm: interrupted; --resume continues what is saved", file=sys.stderr)
            return 130
    if args.json:
        print_json({job.key: results[job.key] for job in jobs})
    for job in () if args.json else jobs:
        print(f"{job.key}: {results[job.key]['steps']} steps -> {results[job.key]['out']}")
    return 0
