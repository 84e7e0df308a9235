"""`skm mission`: send a mission to a running system, follow it, and end with its outcome."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, error_console, labels_text, print_json
from skm_machine.errors import SkmError
from skm_ros.client.ros_client import NAMESPACE, RosClient, counted_interrupts, require_ros

if TYPE_CHECKING:
    from rich.console import Console
    from skm.action import ExecuteMission

    from skm_ros.client.mission_goal import MissionGoal
    from skm_ros.client.ros_client import Interrupts

EPILOG = """\
examples:
  skm mission "F(coffee & X F office) & G !decoration"
  skm mission "F mail" --start 2,2 --max-seconds 10 --json
  skm mission "F A & F B" --repeat --max-steps 500 --namespace /robot1

Ctrl-C takes the mission back and waits for its result; a second Ctrl-C does not wait.

exit codes:
  0    accepted; with --repeat or without end: at least one round completed when the time was up
  1    failed, timed out, cancelled, preempted by another mission, or ended by an error
  2    rejected (wrong, unknown propositions, not achievable), or no system to send it to
  130  left by a second Ctrl-C before the result came
"""

SHOWN_TRANSITIONS = 20


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm mission` to the command."""
    parser = subparsers.add_parser(
        "mission",
        help="send a mission to a running system",
        description="Send a mission to a running system (see `skm up`) and follow it to its end.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mission", metavar="MISSION", help="a formula, or a file with a mission")
    parser.add_argument("--format", choices=("auto", "ltl", "hoa", "rm"), default="auto")
    parser.add_argument("--horizon", choices=("auto", "finite", "infinite"), default="auto")
    parser.add_argument(
        "--planner", choices=("grounded", "paper"), help="default: the machine node's"
    )
    parser.add_argument("--repeat", action="store_true", help="start over each time it succeeds")
    parser.add_argument(
        "--max-steps", type=int, default=0, help="give up after (default: the machine node's)"
    )
    parser.add_argument(
        "--max-seconds", type=float, default=0.0, help="give up after (default: no limit)"
    )
    parser.add_argument(
        "--when-ready", action="store_true", help="wait until no node is missing, then send it"
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.svg",
        help="draw the run as .svg and .png; the simulator must publish markers",
    )
    parser.add_argument("--reset", action="store_true", help="begin a new episode of the world")
    parser.add_argument("--seed", type=int, help="reset the world with this seed")
    parser.add_argument("--start", metavar="ROW,COL", help="reset the office to this cell")
    parser.add_argument(
        "--namespace", default=NAMESPACE, help="of the system to talk to (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, help="seconds to wait for the system (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Send the mission, show what happens, return its outcome as the exit code."""
    require_ros()
    from skm_ros.client.mission_goal import EXIT_CODES, MissionGoal, Result  # noqa: PLC0415

    if args.picture:
        from skm_primitives.figures.run_picture import check_picture  # noqa: PLC0415
        from skm_ros.client.recording import Recording  # noqa: PLC0415

    goal = make_goal(args)
    if args.picture:
        check_picture(args.picture)
    out = error_console() if args.json else console()
    with RosClient(args.namespace) as client, counted_interrupts() as interrupts:
        recording = Recording(client) if args.picture else None

        def on_feedback(feedback: ExecuteMission.Feedback) -> None:
            _show_feedback(out, feedback)
            if recording is not None:
                recording.note(feedback.machine)

        mission = MissionGoal(client, goal, on_feedback)
        if args.when_ready:
            mission.wait_ready(args.timeout)
        mission.send(args.timeout)
        if not _follow(client, mission, interrupts, args.timeout):
            print("skm: left before the result came", file=sys.stderr)
            return 130
        client.take_what_is_there()
        result = mission.result
        document = _document(goal, mission)
        if recording is not None:
            document["picture"] = recording.save(goal, result, args.picture)
        mission.close()
    if args.json:
        print_json(document)
    else:
        _show_result(out, document)
    if result.outcome == Result.TIMED_OUT and result.accepted:
        return 0
    return EXIT_CODES.get(result.outcome, 1)


def make_goal(args: argparse.Namespace) -> ExecuteMission.Goal:
    """Return the action goal that the command line asks for."""
    from skm.action import ExecuteMission  # noqa: PLC0415

    from skm_machine.mission import read_mission_text  # noqa: PLC0415

    if not 0 <= args.max_steps < 2**32:
        raise SkmError(f"--max-steps is {args.max_steps}; it must be 0 or more.")
    if not args.max_seconds >= 0:
        raise SkmError(f"--max-seconds is {args.max_seconds}; it must be 0 or more.")
    if args.seed is not None and not 0 <= args.seed < 2**63:
        raise SkmError(f"--seed is {args.seed}; it must be 0 or more.")
    goal = ExecuteMission.Goal(
        mission=read_mission_text(args.mission),
        format=args.format,
        horizon=args.horizon,
        planner=args.planner or "",
        repeat=args.repeat,
        max_steps=args.max_steps,
        max_seconds=args.max_seconds,
        reset=args.reset or args.seed is not None or args.start is not None,
    )
    if args.seed is not None:
        goal.seed = args.seed
    if args.start is not None:
        goal.reset_options = json.dumps({"start": _cell(args.start)})
    return goal


def _cell(start: str) -> list[int]:
    try:
        row, column = (int(part) for part in start.split(","))
    except ValueError:
        raise SkmError(f"--start takes a row and a column, such as 2,2, not '{start}'") from None
    return [row, column]


def _follow(
    client: RosClient, mission: MissionGoal, interrupts: Interrupts, timeout: float
) -> bool:
    """Wait for the result; return False if a second interrupt, or no answer to the first, ends it."""

    def ended() -> bool:
        mission.check_not_lost()
        return mission.done

    client.spin_until(lambda: ended() or interrupts.count > 0)
    if mission.done:
        return True
    print("skm: taking the mission back", file=sys.stderr)
    mission.cancel()
    client.spin_until(lambda: ended() or interrupts.count > 1, timeout)
    return mission.done


def _show_feedback(out: Console, feedback: ExecuteMission.Feedback) -> None:
    from rich.markup import escape  # noqa: PLC0415

    machine = feedback.machine
    if machine.phase != machine.RUNNING or not machine.target:
        return
    out.print(
        f"  step {machine.mission_steps:<5} state {machine.state} of {machine.states}"
        f"  value {machine.goal_value:.3f}  target {escape(machine.target)}",
        soft_wrap=True,
    )


def _document(goal: ExecuteMission.Goal, mission: MissionGoal) -> dict[str, Any]:
    """Return what happened, for programs."""
    from skm_ros.client.mission_goal import OUTCOMES  # noqa: PLC0415

    result = mission.result
    return {
        "mission": goal.mission,
        "goal_id": mission.goal_id,
        "outcome": OUTCOMES[result.outcome],
        "reason": result.reason,
        "steps": result.steps,
        "accepted": result.accepted,
        "seconds": result.seconds,
        "transitions": [
            {
                "step": move.step,
                "source": move.from_state,
                "target": move.to_state,
                "labels": list(move.labels),
                "reward": move.reward,
            }
            for move in result.transitions
        ],
        "dropped_transitions": result.dropped_transitions,
    }


def _show_result(out: Console, document: dict[str, Any]) -> None:
    from rich.markup import escape  # noqa: PLC0415

    moves = document["transitions"]
    if len(moves) > SHOWN_TRANSITIONS:
        out.print(f"  … {len(moves) - SHOWN_TRANSITIONS} earlier transitions")
    for move in moves[-SHOWN_TRANSITIONS:]:
        mark = "  ★" if move["reward"] > 0 else ""
        labels = escape(labels_text(move["labels"]))
        out.print(
            f"  step {move['step']:<5} state {move['source']} → {move['target']}  {labels}{mark}",
            soft_wrap=True,
        )
    steps, seconds = document["steps"], document["seconds"]
    rate = f" ({steps / seconds:.0f} steps/s)" if steps and seconds else ""
    out.print(f"[bold]{document['outcome']}[/bold] after {steps} steps, {seconds:.2f} s{rate}")
    if document["reason"]:
        out.print(escape(document["reason"]), soft_wrap=True)
    if document.get("picture"):
        out.print(escape(f"picture of the run: {', '.join(document['picture'])}"), soft_wrap=True)
