"""`skm verify`: judge recordings again, independently of what was said when they were made."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from skm_cli.output import print_json, track
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.recording.verification import Verification


BAD = (0, 1, 4, 2, 3)
"""Exit codes, the worst last."""

EPILOG = """\
examples:
  skm verify runs/20261117-093122_F-coffee.mcap
  skm verify run.mcap --mission "G !decoration"
  skm verify killed.mcap --recover
  skm verify runs --json

The mission is compiled again, and its machine runs over the recorded labels. All differences from the
recorded result are listed; docs/how-to/recording.md explains them. A recording can contain several
missions, for example if it was made by `ros2 bag record`. For several recordings, the exit code is the
first of 3, 2, 4, 1, 0 that occurs.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm verify` to the command."""
    parser = subparsers.add_parser(
        "verify",
        help="verify a recorded run",
        description=(
            "Run the recorded labels through the mission again, and compare with the recorded"
            " result."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "recording",
        type=Path,
        metavar="RUN.mcap|FOLDER",
        help="a recording, or a folder of recordings",
    )
    parser.add_argument(
        "--mission", metavar="OTHER", help="check the labels against this mission instead"
    )
    parser.add_argument(
        "--recover",
        action="store_true",
        help="repair a file that was cut off, and verify what is there",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify one recording, or all of a folder."""
    from skm_cli.reports.verify import print_table, print_verification  # noqa: PLC0415
    from skm_primitives.recording.verification import EXIT_CODES  # noqa: PLC0415

    if not args.recording.is_dir():
        found = verify_missions(args.recording, args.mission, recover=args.recover)
        documents = [{"file": str(args.recording), **one.document()} for one in found]
        if args.json:
            print_json(documents[0] if len(documents) == 1 else documents)
        for one in found if not args.json else ():
            print_verification(one)
        return worst(EXIT_CODES[one.result] for one in found)
    files = sorted(args.recording.glob("*.mcap"))
    if not files:
        raise SkmError(f"there is no recording (*.mcap) in {args.recording}")
    rows: list[tuple[Path, Verification | str]] = []
    for file in track(files, "verifying"):
        try:
            judged = verify_missions(file, args.mission, recover=args.recover)
            rows += [(file, one) for one in judged]
        except SkmError as error:
            rows.append((file, str(error)))
    if args.json:
        print_json(
            [
                {"file": str(file), **({"error": one} if isinstance(one, str) else one.document())}
                for file, one in rows
            ]
        )
    else:
        print_table(rows)
    return worst(2 if isinstance(one, str) else EXIT_CODES[one.result] for _, one in rows)


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of several: what disagrees is never hidden by what is missing elsewhere."""
    return max(codes, key=BAD.index)


def verify_file(path: Path, other: str | None, *, recover: bool) -> Verification:
    """Return what a replay of the recorded mission finds: of the first, where there are several."""
    return verify_missions(path, other, recover=recover)[0]


def verify_missions(path: Path, other: str | None, *, recover: bool) -> list[Verification]:
    """Return what a replay of each mission finds; a file without its end is repaired, if asked."""
    from skm_machine.mission import read_mission_text  # noqa: PLC0415
    from skm_primitives.recording.files import (  # noqa: PLC0415
        compact,
        read_recording,
        recorded_missions,
    )
    from skm_primitives.recording.verification import verify_mission  # noqa: PLC0415

    file = read_recording(path, recover=recover)
    missions = recorded_missions(file)
    if not missions:
        raise SkmError(f"{path} holds no mission of skm: nothing was logged on mission_log")
    text = None if other is None else read_mission_text(other)
    found = [verify_mission(mission, text) for mission in missions]
    if recover and not file.complete:
        compact(path)
    return found
