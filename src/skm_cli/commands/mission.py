"""`skm mission`: send a mission to a running system, follow it, and end with its outcome."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from skm_cli.options import PLANNERS, add_keeping_options, planner_name
from skm_cli.output import (
    add_reading_options,
    console,
    error_console,
    print_json,
    seed_number,
    start_options,
)

if TYPE_CHECKING:
    from skm_ros.client.mission_goal import MissionGoal
    from skm_ros.client.ros_client import Interrupts, RosClient


EPILOG = """\
examples:
  skm mission "F(coffee & X F office) & G !decoration"
  skm mission "F mail" --start 2,2 --max-seconds 10 --json
  skm mission "F A & F B" --repeat --max-steps 500 --namespace /robot1
  skm mission "F mail" --queue --priority 5    when its turn comes; prints its number and returns
  skm mission "F coffee" --add                 besides what is left of the mission under way

Ctrl-C cancels the mission and waits for its result. A second Ctrl-C does not wait.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm mission` to the command."""
    parser = subparsers.add_parser(
        "mission",
        help="send a mission to a running system",
        description="Send a mission to a running system (see `skm up`) and wait for its end.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "mission", metavar="MISSION", help="a formula, plain words, or a mission file"
    )
    add_reading_options(parser)
    parser.add_argument(
        "--planner", type=planner_name, metavar="NAME", help=f"{PLANNERS} (default: the machine's)"
    )
    parser.add_argument(
        "--repeat", action="store_true", help="repeat the mission after each success"
    )
    parser.add_argument(
        "--max-steps",
        type=int,
        default=0,
        help="maximum number of steps (default: that of the machine node)",
    )
    parser.add_argument(
        "--max-seconds", type=float, default=0.0, help="maximum time in seconds (default: no limit)"
    )
    parser.add_argument("--when-ready", action="store_true", help="wait until all nodes are ready")
    turn = parser.add_mutually_exclusive_group()
    turn.add_argument(
        "--queue",
        action="store_true",
        help="add the mission to the queue and return (see `skm queue`)",
    )
    turn.add_argument(
        "--add", action="store_true", help="combine the mission with the rest of the current one"
    )
    turn.add_argument(
        "--replace",
        action="store_true",
        help="replace the current mission",
    )
    parser.add_argument(
        "--priority",
        type=int,
        default=0,
        help="with --queue: higher priorities run first (default: 0)",
    )
    parser.add_argument(
        "--wait", action="store_true", help="with --queue: wait for the end of the mission"
    )
    add_keeping_options(parser)
    parser.add_argument("--reset", action="store_true", help="reset the world first")
    parser.add_argument("--seed", type=seed_number, help="reset the world first, with this seed")
    parser.add_argument("--start", metavar="ROW,COL", help="reset the office first, to this cell")
    parser.add_argument(
        "--namespace", default="/skm", help="namespace of the system (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, help="seconds to wait for the system (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Send the mission, show what happens, return its outcome as the exit code."""
    from skm_ros.client.ros_client import RosClient, counted_interrupts, require_ros  # noqa: PLC0415

    require_ros()
    from skm_cli.mission_files import mission_text  # noqa: PLC0415
    from skm_cli.reports import mission as mission_report  # noqa: PLC0415
    from skm_primitives.figures.run import check_picture  # noqa: PLC0415
    from skm_ros.client.mission_goal import (  # noqa: PLC0415
        MissionGoal,
        MissionRecorder,
        MissionRequest,
        exit_code,
    )
    from skm_ros.client.recording import Recording  # noqa: PLC0415

    request = MissionRequest(
        mission=mission_text(args),
        format=args.format,
        horizon=args.horizon,
        planner=args.planner or "",
        repeat=args.repeat,
        max_steps=args.max_steps,
        max_seconds=args.max_seconds,
        reset=args.reset,
        seed=args.seed,
        reset_options=start_options(args.start),
        when=next((one for one in ("queue", "add", "replace") if getattr(args, one)), "as usual"),
        priority=args.priority,
    )
    goal = request.goal()
    if args.picture:
        check_picture(args.picture)
    out = error_console() if args.json else console()
    with RosClient(args.namespace) as client, counted_interrupts() as interrupts:
        recording = Recording(client) if args.picture else None
        keeper = None if args.record is None else MissionRecorder(client, args.record, args.timeout)
        progress = mission_report.Progress(out)

        def on_feedback(feedback: MissionGoal.Feedback) -> None:
            progress.show(feedback.machine)
            if recording is not None:
                recording.note(feedback.machine)

        mission = MissionGoal(client, goal, on_feedback)
        if args.when_ready:
            mission.wait_ready(args.timeout, lambda: interrupts.count > 0)
        mission.send(args.timeout)
        if args.queue and not args.wait:
            return _tell_number(client, mission, args)
        if keeper is not None:
            keeper.wants(mission.goal_id)
        followed = _follow(client, mission, interrupts, args.timeout)
        progress.clear()
        if not followed:
            print("skm: left before the result came", file=sys.stderr)
            return 130
        client.take_what_is_there()
        document = mission_report.mission_document(mission)
        if recording is not None:
            document["picture"] = recording.save(goal, mission.result, args.picture)
        if keeper is not None:
            document["recording"] = keeper.finish()
        code = exit_code(mission.result)
        mission.close()
    if args.json:
        print_json(document)
    else:
        mission_report.show_result(out, document)
    return code


def _tell_number(client: RosClient, mission: MissionGoal, args: argparse.Namespace) -> int:
    """Say where a mission is in the queue, and leave it there."""
    from skm_machine.errors import SkmError  # noqa: PLC0415

    client.spin_until(lambda: mission.number is not None or mission.done, args.timeout)
    number = mission.number
    if number is None:
        raise SkmError("the mission is not in the machine's queue; `skm queue` shows what is")
    if args.json:
        print_json({"mission": mission.text, "number": number, "goal_id": mission.goal_id})
    else:
        print(f"in the queue as number {number}; `skm queue` shows it")
    mission.close()
    return 0


def _follow(
    client: RosClient, mission: MissionGoal, interrupts: Interrupts, timeout: float
) -> bool:
    """Wait for the result; return False if a second interrupt, or no answer to the first, ends it."""
    client.spin_until(lambda: mission.done or interrupts.count > 0)
    if mission.done:
        return True
    print("skm: taking the mission back", file=sys.stderr)
    mission.cancel()
    client.spin_until(lambda: mission.done or interrupts.count > 1, timeout)
    return mission.done
