"""What `skm run` leaves of a run: its recording, its picture, its film."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import gymnasium

from skm_cli.output import written
from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_primitives.execution.episodes import Episode
from skm_sim.faults import said
from skm_sim.scene import Shape, robot_place, scene_of
from skm_sim.spec import DomainSpec
from skm_sim.world import draws

if TYPE_CHECKING:
    from skm_primitives.recording.episode_recorder import EpisodeRecorder
    from skm_primitives.skills.values import Skills


# What keeps a run of `skm run` in a file, with all that was asked for.


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


@contextmanager
def interrupts_between_steps(
    wanted: bool, step: Callable[[], None]
) -> Iterator[Callable[..., None]]:
    """Hold Ctrl-C back until the next step is whole, so that a recording ends as it should.

    Yields what a run calls after every step, which calls `step`. A second Ctrl-C does not wait.
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    def after_step(*_: object) -> None:
        step()
        if asked:
            raise KeyboardInterrupt

    if not wanted or threading.current_thread() is not threading.main_thread():
        yield after_step
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield after_step
    finally:
        signal.signal(signal.SIGINT, before)


# Pictures of a run of `skm run`, as the demo draws them: .png, .svg or, step by step, .gif.
#
# Made from the domain's scene. Where there is none, they are what the environment itself draws.


SUFFIXES: Final = (".png", ".svg", ".gif")
FRAME_MILLISECONDS: Final = 120
END_MILLISECONDS: Final = 2000
"""How long a film stays at its last picture."""


class Film:
    """Collects what the pictures of a run are made from; `save` writes them."""

    def __init__(self, path: Path | None, spec: DomainSpec) -> None:
        if path is not None and path.suffix not in SUFFIXES:
            raise SkmError(f"--render writes .png, .svg or .gif, not '{path.name}'")
        self.path = path
        self._spec = spec
        self._scenes: list[Sequence[Shape]] = []
        self._frames: list[Any] = []
        self._has_scene = True

    def env(self) -> Any:  # noqa: ANN401 - any environment
        """Return the environment to run in; it draws pictures only where nobody else can."""
        env = self._spec.make()
        if self.path is None:
            return env
        env.reset(seed=0)
        if robot_place(scene_of(self._spec, env)) is not None:
            return env
        env.close()
        self._has_scene = False
        if self.path.suffix == ".svg" or not draws(self._spec):
            raise SkmError(
                f"--render: '{self._spec.name}' has no scene with a robot in it, and draws no "
                f"{self.path.suffix} itself: give its environment a method scene() (docs/how-to/"
                "domains.md), or leave --render out"
            )
        return self._spec.make("rgb_array")

    def step(self, env: Any) -> None:  # noqa: ANN401
        """Take a state; the first one, too."""
        if self.path is None:
            return
        if self._has_scene:
            self._scenes.append(list(scene_of(self._spec, env)))
        elif self.path.suffix == ".gif":
            self._frames.append(_picture(env))

    def save(
        self,
        env: Any,  # noqa: ANN401
        mission: Mission,
        skills: Skills,
        episode: Episode,
    ) -> None:
        """Write the file."""
        if self.path is None:
            return
        if not self._has_scene:
            _save_frames(self._frames or [_picture(env)], self.path)
            return
        from skm_primitives.figures.run import (  # noqa: PLC0415
            Place,
            RecordedRun,
            film_frames,
            run_image,
            run_svg,
        )

        places = [robot_place(scene) for scene in self._scenes]
        run = RecordedRun(
            mission=mission,
            gamma=skills.gamma,
            outcome=episode.outcome,
            steps=episode.steps,
            scene=self._scenes[-1],
            path=[Place(step, *place) for step, place in enumerate(places) if place is not None],
            moves=episode.transitions,
            label_sets={goal.labels for goal in skills.goals},
            gone=[shape for pair in pairwise(self._scenes) for shape in _gone(*pair)],
        )
        with written(self.path) as path:
            if path.suffix == ".svg":
                path.write_text(run_svg(run), encoding="utf-8")
            elif path.suffix == ".png":
                run_image(run).save(path)
            else:
                _save_images(film_frames(run, self._scenes), path)


def _gone(before: Sequence[Shape], now: Sequence[Shape]) -> list[Shape]:
    """Return what is no longer where it was; the robot, and names, are not meant."""
    there = {(shape.group, *shape.position[:2]) for shape in now}
    return [
        shape
        for shape in before
        if shape.group != "robot" and shape.kind != "text"
        if (shape.group, *shape.position[:2]) not in there
    ]


def _save_frames(frames: Sequence[Any], path: Path) -> None:
    from PIL import Image  # noqa: PLC0415

    with written(path) as file:
        _save_images([Image.fromarray(frame) for frame in frames], file)


def _save_images(images: Sequence[Any], path: Path) -> None:
    more: dict[str, Any] = {
        "save_all": True,
        "append_images": images[1:],
        "duration": [*(FRAME_MILLISECONDS for _ in images[1:]), END_MILLISECONDS],
        "loop": 0,
    }
    images[0].save(path, **(more if path.suffix == ".gif" else {}))


def _picture(env: Any) -> Any:  # noqa: ANN401 - what the environment draws
    """Return what an environment draws; where it cannot, say so."""
    try:
        return env.render()
    except Exception as error:
        raise SkmError(f"--render: the environment cannot draw itself ({said(error)}).") from error
