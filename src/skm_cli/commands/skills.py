"""`skm skills push|pull|list`: skills that travel, with their results, seed and licence."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm eval lake:LAKE --checkpoint lake --missions 20 --json > lake_eval.json
  skm skills push lake --checkpoint lake --to skills --licence Apache-2.0 --results lake_eval.json
  skm skills list skills
  skm skills pull lake --from skills --out my_lake

PLACE is a folder, or a Hugging Face repository hf://owner/name (pip install 'skm[hub]').
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm skills` to the command."""
    parser = subparsers.add_parser(
        "skills",
        help="share trained skills in a folder or on Hugging Face",
        description=(
            "Publish trained skills with their results, seed and licence; list and download them."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    pushed = what.add_parser(
        "push",
        help="publish a checkpoint",
        epilog="example: skm skills push lake --checkpoint lake --to skills --licence Apache-2.0",
    )
    pushed.add_argument("name", metavar="NAME", help="name of the release")
    pushed.add_argument(
        "--checkpoint", required=True, type=Path, metavar="FILE", help="a checkpoint of `skm train`"
    )
    pushed.add_argument("--to", required=True, metavar="PLACE", help="a folder, or hf://owner/name")
    pushed.add_argument(
        "--licence", required=True, metavar="SPDX", help="licence, such as Apache-2.0"
    )
    pushed.add_argument(
        "--results",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="output of `skm eval --json`; can be given several times",
    )
    pushed.add_argument("--overwrite", action="store_true", help="replace an existing release")
    pushed.set_defaults(run=run_push)
    pulled = what.add_parser(
        "pull",
        help="download a release as a checkpoint",
        epilog="example: skm skills pull lake --from skills --out my_lake",
    )
    pulled.add_argument("name", metavar="NAME", help="name of the release")
    pulled.add_argument(
        "--from", dest="place", required=True, metavar="PLACE", help="a folder, or hf://owner/name"
    )
    pulled.add_argument("--out", type=Path, metavar="FILE", help="default: runs/NAME")
    pulled.add_argument("--overwrite", action="store_true", help="replace an existing file")
    pulled.set_defaults(run=run_pull)
    listed = what.add_parser(
        "list", help="list releases", epilog="example: skm skills list skills --json"
    )
    listed.add_argument("place", metavar="PLACE", help="a folder, or hf://owner/name")
    listed.add_argument("--json", action="store_true", help="print one JSON document")
    listed.set_defaults(run=run_list)


def run_push(args: argparse.Namespace) -> int:
    """Put a checkpoint into a store."""
    from skm_primitives.skills.store import push  # noqa: PLC0415

    results = [_document(path) for path in args.results]
    release = push(
        args.checkpoint, args.to, args.name, args.licence, results, overwrite=args.overwrite
    )
    print(f"{release.name}: skills of '{release.domain}', {release.licence} -> {args.to}")
    return 0


def run_pull(args: argparse.Namespace) -> int:
    """Bring a release here."""
    from skm_primitives.skills.store import pull  # noqa: PLC0415

    out = args.out or Path("runs") / args.name
    release = pull(args.place, args.name, out, overwrite=args.overwrite)
    print(f"{release.name}: skills of '{release.domain}', {release.licence} -> {out}")
    return 0


def run_list(args: argparse.Namespace) -> int:
    """Print what is in a store."""
    from skm_primitives.skills.store import releases  # noqa: PLC0415

    found = releases(args.place)
    if args.json:
        print(json.dumps([asdict(release) for release in found], indent=2, ensure_ascii=False))
        return 0
    for release in found:
        results = len(release.results)
        print(
            f"{release.name}: {release.domain}, {release.learner}, seed {release.seed},"
            f" {release.steps} steps, {release.licence}, {results} result{'s' * (results != 1)}"
        )
    if not found:
        print(f"{args.place} has no releases")
    return 0


def _document(path: Path) -> Mapping[str, Any]:
    from skm_machine.documents import read_json  # noqa: PLC0415

    try:
        document = read_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SkmError(f"--results {path} cannot be read as JSON: {error}.") from error
    if not isinstance(document, dict):
        raise SkmError(f"--results {path} is not what `skm eval --json` writes.")
    return document
