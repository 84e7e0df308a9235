"""`skm run`: one episode of a mission, in process, with no ROS."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_cli.output import console, labels_text, print_json
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_machine import Mission
    from skm_primitives.episodes import Episode
    from skm_primitives.primitives import Primitives

EPILOG = """\
examples:
  skm run office "F(coffee & X F office) & G !decoration" --start 2,2 --render run.png
  skm run office "F mail" --seed 7 --json

The exit code is 0 if the mission succeeds (without end: if it completes a round), else 1.
"""
FRAME_MILLISECONDS = 120
END_MILLISECONDS = 2000
"""How long a film stays at its last picture."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `skm run` to the command."""
    parser = subparsers.add_parser(
        "run",
        help="run a mission once in a simulated domain",
        description="Plan a mission, run it once with the learned skills, and say what happened.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("domain", help="a domain, such as office")
    parser.add_argument("mission", metavar="MISSION", help="a formula, or a file with a mission")
    parser.add_argument("--format", choices=("auto", "ltl", "hoa", "rm"), default="auto")
    parser.add_argument("--planner", choices=("grounded", "paper"), default="grounded")
    parser.add_argument("--repeat", action="store_true", help="start over each time it succeeds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the world (default: 0)")
    parser.add_argument("--start", metavar="ROW,COL", help="start cell, in the office domains")
    parser.add_argument("--max-steps", type=int, default=1000, help="give up after (default: 1000)")
    parser.add_argument("--checkpoint", help="primitives to use instead of the shipped ones")
    parser.add_argument("--render", type=Path, metavar="FILE.png|.gif", help="draw the run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run one episode and report it."""
    import gymnasium  # noqa: PLC0415

    from skm_machine import compile_mission  # noqa: PLC0415
    from skm_machine.mission import read_mission_text  # noqa: PLC0415
    from skm_primitives.episodes import run_episode  # noqa: PLC0415
    from skm_primitives.planning.policy import make_policy  # noqa: PLC0415
    from skm_primitives.primitives import default_checkpoint, load_primitives  # noqa: PLC0415
    from skm_sim.domain import get_domain  # noqa: PLC0415

    spec = get_domain(args.domain)
    mission = compile_mission(
        read_mission_text(args.mission),
        format=args.format,
        propositions=spec.propositions,
        repeat=args.repeat,
    )
    primitives = load_primitives(args.checkpoint or default_checkpoint(spec.name), spec)
    policy = make_policy(mission, primitives, args.planner)
    film = Film(args.render)
    env = gymnasium.make(
        spec.env_id, render_mode="rgb_array" if args.render else None, max_episode_steps=-1
    )
    options = _start_options(args.start)
    if args.render:
        env.reset(seed=args.seed, options=options)  # as the run will: a film shows the start, too
        film.step(env)
    episode = run_episode(
        env,
        primitives,
        policy,
        max_steps=args.max_steps,
        seed=args.seed,
        options=options,
        watch=lambda *_: film.step(env),
    )
    film.save(env)
    env.close()
    document = _document(args, mission, primitives, episode)
    if args.json:
        print_json(document)
    else:
        _print(mission, document)
    return 0 if document["outcome"] == "accepted" or episode.accepting_visits else 1


def _start_options(start: str | None) -> dict[str, Any] | None:
    if start is None:
        return None
    try:
        row, column = (int(part) for part in start.split(","))
    except ValueError:
        raise SkmError(f"--start takes a row and a column, such as 2,2, not '{start}'") from None
    return {"start": (row, column)}


class Film:
    """Collects the pictures of a run: all of them for a GIF, the last one for a PNG."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and path.suffix not in (".png", ".gif"):
            raise SkmError(f"--render writes .png or .gif, not '{path.name}'")
        self.path = path
        self.frames: list[Any] = []

    def step(self, env: Any) -> None:  # noqa: ANN401 - any environment that renders
        """Take a picture if every step is wanted."""
        if self.path is not None and self.path.suffix == ".gif":
            self.frames.append(env.render())

    def save(self, env: Any) -> None:  # noqa: ANN401
        """Write the file."""
        if self.path is None:
            return
        from PIL import Image  # noqa: PLC0415

        images = [Image.fromarray(frame) for frame in self.frames or [env.render()]]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        more: dict[str, Any] = {
            "save_all": True,
            "append_images": images[1:],
            "duration": [*(FRAME_MILLISECONDS for _ in images[1:]), END_MILLISECONDS],
            "loop": 0,
        }
        images[0].save(self.path, **(more if self.path.suffix == ".gif" else {}))


def _document(
    args: argparse.Namespace, mission: Mission, primitives: Primitives, episode: Episode
) -> dict[str, Any]:
    """Return what happened, for programs."""
    names = mission.machine.names
    return {
        "domain": args.domain,
        "mission": mission.text,
        "planner": args.planner,
        "seed": args.seed,
        "outcome": "timed out" if episode.status.value == "running" else episode.status.value,
        "steps": episode.steps,
        "accepting_visits": episode.accepting_visits,
        "discounted_return": episode.discounted_return,
        "transitions": [
            {
                "step": step.number,
                "source": names[step.source],
                "target": names[step.target],
                "labels": sorted(step.labels),
                "reward": step.reward,
            }
            for step in episode.transitions
        ],
        "actions": [_plain(decision.action) for decision in episode.decisions],
        "goals": [
            str(primitives.goals[decision.goal]) if decision.goal >= 0 else None
            for decision in episode.decisions
        ],
        "values": [decision.value for decision in episode.decisions],
        "checkpoint": primitives.digest,
    }


def _plain(action: Any) -> Any:  # noqa: ANN401 - an integer, or a list of numbers
    return action.tolist() if hasattr(action, "tolist") else action


def _print(mission: Mission, document: dict[str, Any]) -> None:
    from rich.markup import escape  # noqa: PLC0415

    out = console()
    out.print(f"[bold]{escape(str(mission.formula or mission.format))}[/bold]")
    for step in document["transitions"]:
        labels = escape(labels_text(step["labels"]))
        mark = "  ★" if step["reward"] > 0 else ""
        out.print(
            f"  step {step['step']:<4} {step['source']} → {step['target']:<10} {labels}{mark}"
        )
    visits = document["accepting_visits"]
    rounds = f", {visits} rounds completed" if mission.machine.endless else ""
    out.print(f"{document['outcome']} after {document['steps']} steps{rounds}")
