"""`skm map`: a domain from a map, with no training."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from skm_cli.output import print_json

EPILOG = """\
examples:
  skm map --example --out hall
  skm map floor.yaml --places places.yaml --out hall
  skm map floor.yaml --places places.yaml --out hall --cell 0.1 --json
then:
  skm run hall "F(kitchen & X F dock) & G !wet_floor" --render run.png
  skm eval hall --missions 20 --seed 3

MAP.yaml is a map as map_server has it; what a places file says is in docs/maps.md.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm map` to the command."""
    parser = subparsers.add_parser(
        "map",
        help="make a domain of a map with named places",
        description="Make a domain of a map_server map and a file of named places: a folder that "
        "every command takes as a domain, with skills that are computed, not learned.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("map", metavar="MAP.yaml", type=Path, nargs="?", help="a map of map_server")
    parser.add_argument("--places", metavar="PLACES.yaml", type=Path, help="the named places")
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True, help="the domain")
    parser.add_argument(
        "--cell",
        type=float,
        metavar="METRES",
        help="a cell's side (default: as in the file, or 0.25)",
    )
    parser.add_argument(
        "--radius",
        type=float,
        metavar="METRES",
        help="the robot's (default: as in the file, or 0.22)",
    )
    parser.add_argument(
        "--neighbours",
        type=int,
        choices=(4, 8),
        help="moves from a cell (default: as in the file, or 8)",
    )
    parser.add_argument(
        "--example", action="store_true", help="take the map and the places that come with skm"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the domain at --out")
    parser.add_argument("--no-picture", action="store_true", help="leave picture.png out")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the folder and say what is in it."""
    from skm_cli.reports.map import print_map  # noqa: PLC0415
    from skm_primitives.planning.map_domains import make_map_domain  # noqa: PLC0415

    map_path, places_path = _sources(args)
    made = make_map_domain(
        map_path,
        places_path,
        args.out,
        cell=args.cell,
        robot_radius=args.radius,
        neighbours=args.neighbours,
        picture=not args.no_picture,
        overwrite=args.overwrite,
        command=shlex.join(["skm", "map", str(map_path), "--places", str(places_path)]),
    )
    if args.json:
        print_json(made.document())
    else:
        print_map(made.document())
    return 0


def _sources(args: argparse.Namespace) -> tuple[Path, Path]:
    """Return the two files that were named, or those that come with skm."""
    from skm_machine.errors import SkmError  # noqa: PLC0415
    from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES  # noqa: PLC0415

    if args.example:
        if args.map:
            raise SkmError("--example brings a map of its own: leave MAP.yaml out")
        return EXAMPLE_MAP, args.places or EXAMPLE_PLACES
    if args.map is None or args.places is None:
        raise SkmError(
            "name a map and its places: skm map MAP.yaml --places PLACES.yaml --out FOLDER"
        )
    return args.map, args.places
