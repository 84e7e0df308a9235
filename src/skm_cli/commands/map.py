"""`skm map`: a domain from a map, with no training."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from skm_cli.options import add_address_options, require_web
from skm_cli.output import print_json
from skm_machine.errors import SkmError

EPILOG = """\
examples:
  skm map --edit                      draw a floor, or open a picture of one, in a browser
  skm map --edit floor.png
  skm map --example --out hall
  skm map floor.yaml --places places.yaml --out hall
  skm map floor.yaml --places places.yaml --out hall --cell 0.1 --json
then:
  skm run hall "F(kitchen & X F dock) & G !wet_floor" --render run.png
  skm eval hall --missions 20 --seed 3

MAP.yaml is a map in the format of map_server. docs/how-to/maps.md describes the places file.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm map` to the command."""
    parser = subparsers.add_parser(
        "map",
        help="create a domain from a map with named places",
        description=(
            "Create a domain from a map of map_server and a file with places. Skills are "
            "computed, not trained."
        ),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "map",
        metavar="MAP.yaml",
        type=Path,
        nargs="?",
        help="a map of map_server; with --edit also an image or an existing domain",
    )
    parser.add_argument(
        "--edit",
        action="store_true",
        help=("open the map editor in a browser; saves to --out (default: the current folder)"),
    )
    parser.add_argument("--places", metavar="PLACES.yaml", type=Path, help="the places file")
    parser.add_argument(
        "--actions",
        metavar="ACTIONS.yaml",
        type=Path,
        help="ROS actions as skills (docs/how-to/robots.md)",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="output folder: the domain")
    parser.add_argument(
        "--cell",
        type=float,
        metavar="METRES",
        help="side of a cell (default: from the places file, or 0.25)",
    )
    parser.add_argument(
        "--radius",
        type=float,
        metavar="METRES",
        help="radius of the robot (default: from the places file, or 0.22)",
    )
    parser.add_argument(
        "--neighbours",
        type=int,
        choices=(4, 8),
        help="neighbours of a cell (default: from the places file, or 8)",
    )
    parser.add_argument("--example", action="store_true", help="use the example map of skm")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing domain")
    parser.add_argument("--no-picture", action="store_true", help="do not draw picture.png")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    add_address_options(parser, read_only=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the folder and say what is in it."""
    if args.edit:
        require_web()
        from skm_cli.map_editing import edit_maps  # noqa: PLC0415

        host, port = args.web_host or "127.0.0.1", args.web_port
        folder = args.out or Path()
        edit_maps(args.map, folder, host, 8765 if port is None else port, args.web_public_url or "")
        return 0
    if args.out is None:
        raise SkmError("name the folder of the domain with --out; --edit draws one in a browser")
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
        actions=args.actions,
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
