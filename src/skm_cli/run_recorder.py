"""What keeps a run of `skm run` in a file, with all that was asked for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

import gymnasium

from skm_machine.errors import SkmError
from skm_sim.domain import DomainSpec

if TYPE_CHECKING:
    from skm_primitives.recording.episode_recorder import EpisodeRecorder

LEFT_OUT: Final = ("run", "record", "overwrite", "render", "json")
"""Arguments that change nothing in the run."""


def run_recorder(
    args: argparse.Namespace,
    spec: DomainSpec,
    env: gymnasium.Env[Any, Any],
    events: tuple[str, ...],
) -> EpisodeRecorder | None:
    """Return the recorder that `--record` asks for; None if it does not."""
    if args.record is None:
        return None
    from skm_primitives.recording.episode_recorder import EpisodeRecorder  # noqa: PLC0415
    from skm_primitives.recording.files import require_mcap  # noqa: PLC0415

    require_mcap()
    if args.record.suffix != ".mcap":
        raise SkmError(f"--record writes .mcap, not '{args.record.name}'")
    if args.record.exists() and not args.overwrite:  # said before the planning, not after it
        raise SkmError(f"{args.record} exists; --overwrite replaces it.")
    return EpisodeRecorder(
        args.record,
        spec,
        env,
        options={key: value for key, value in vars(args).items() if key not in LEFT_OUT},
        checkpoint=args.checkpoint or spec.checkpoint,
        format=args.format,
        horizon=args.horizon,
        repeat=args.repeat,
        planner=args.planner,
        events=tuple(dict.fromkeys((*events, *spec.events))),
        overwrite=args.overwrite,
    )
