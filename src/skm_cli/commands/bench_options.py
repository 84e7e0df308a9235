"""The options of `skm bench`, and what it says about itself."""

from __future__ import annotations

import argparse

EPILOG = """\
examples:
  skm bench loop
  skm bench loop --steps 500 --rounds 9 --json
  skm bench realtime --rate 50 --steps 500
  skm bench faults --rate 50 --trials 50 --json
  skm bench patrol --rate 50 --minutes 60 --json
  skm bench faults --system robot --domain hall --mission "G F kitchen & G F store" --rate 20
  skm bench patrol --system robot --domain hall --mission "G F kitchen & G F store" --rate 20
  skm bench robot --domain hall --missions 20 --starts 5 --seed 3
  skm bench robot --domain safety --tasks 1 2 --starts 20 --seed 3
  skm bench web --pages 5 --rate 50
  skm bench core

core: CPU milliseconds of what has no ROS in it: compiling a mission, a step of a world, alone and in a
batch, and a step of a mission with the shipped skills.

loop: the nodes run a patrol in the office in lock-step, as three processes and as one. Beside them
runs a bare loop: the same messages of the same sizes over the same four hops with the same quality of
service, and nothing else. Rounds of the two are taken in turn; the median round counts.
overhead = time of the nodes' loop / time of the bare loop.

faults: while the robot moves, each node is killed (SIGKILL) and frozen (SIGSTOP); the table says after
how many seconds the robot brakes and is at rest, how far it still goes, when the machine stops it and
when the client has its result: median and worst.

robot: missions drawn at random run on safety-gymnasium's Car, or on ir-sim's robot (--robot irsim, an
extra), with noise, in the given domain on a map, through the bridge's own driving: in simulated time,
faster than life; with --real-time once each through real nodes, one after the other. Judged on the
robot's true pose at 50 Hz. In a domain that is on no map but says how a robot plays its part (safety),
the domain's tasks, in arenas drawn at random.

patrol: a mission without end; every minute a row with rounds, late steps, stops, latency, and the memory
and CPU share of each node. Twice a minute (--stops) the robot is stopped by the service stop, and let go
again; the row has the longest time from such a call to the beginning of braking.

web: the point robot patrols with the page served; windows without a page and with some open pages are
taken in turn. It tells late actions of both, updates a second, and the server's share of a core.

realtime: the point robot patrols at a fixed rate. late = share of the steps at which the action to
the state had not arrived when it was due, counted by the simulator; latency is from the publication of
a state to the arrival of its action, both in the simulator.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said."""
    parser.add_argument(
        "what",
        choices=("loop", "realtime", "faults", "robot", "patrol", "web", "core"),
        help="what to measure",
    )
    parser.add_argument("--steps", type=int, help="loop: per round (default: 200; realtime: 500)")
    parser.add_argument("--rounds", type=int, default=15, help="loop: of each (default: 15)")
    parser.add_argument("--trials", type=int, default=5, help="faults: of each (default: 5)")
    parser.add_argument("--minutes", type=int, default=10, help="patrol: how long (default: 10)")
    parser.add_argument(
        "--stops", type=int, default=2, help="patrol: calls of stop a minute (default: 2)"
    )
    parser.add_argument("--rate", type=float, default=50.0, help="realtime: Hz (default: 50)")
    parser.add_argument(
        "--seed", type=int, help="faults, patrol, robot: of the world, of all chance"
    )
    parser.add_argument("--domain", help="default: as config/graph.yaml has it")
    parser.add_argument("--mission", help="default: as config/graph.yaml has it")
    parser.add_argument(
        "--system", choices=("demo", "robot"), default="demo", help="faults, patrol: of which nodes"
    )
    parser.add_argument("--missions", type=int, default=20, help="robot: how many (default: 20)")
    parser.add_argument("--starts", type=int, default=5, help="robot: of each (default: 5)")
    parser.add_argument("--tasks", nargs="+", help="robot, on no map: tasks of the domain")
    parser.add_argument(
        "--robot", choices=("car", "irsim"), default="car", help="robot: which one (default: car)"
    )
    parser.add_argument("--real-time", action="store_true", help="robot: through real nodes")
    parser.add_argument("--pages", type=int, default=5, help="web: open pages (default: 5)")
    parser.add_argument(
        "--single-process", action="store_true", help="realtime: all nodes in one process"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
