"""Parts of other packages by name: what entry points offer, and clear errors where one does not load.

A package says in its pyproject.toml what it adds, in a group for each kind:

    [project.entry-points."skm.planners"]
    nearest = "own_planner:NearestFirst"

The groups are `skm.domains`, `skm.planners`, `skm.learners` and `skm.skills`: docs/how-to/extending.md.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skm_machine.errors import SkmError
from skm_sim.faults import said

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class PluginError(SkmError):
    """A part of an installed package that does not load or does not fit; names the package."""


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    if not _is_mentioned(group):
        return {}
    from importlib.metadata import entry_points  # noqa: PLC0415 (it reads every package's metadata)

    return {entry.name: entry for entry in entry_points(group=group)}


def _is_mentioned(group: str) -> bool:
    """Tell whether any installed package may have entry points of a group.

    It is rarely used, and to look at the files takes a tenth of importing `importlib.metadata`, which
    brings email, csv and zipfile along. Every command asks.
    """
    section = f"[{group}]".encode()
    for folder in map(Path, dict.fromkeys(sys.path)):
        if folder.is_file():
            return True  # a zip file: only importlib.metadata can tell
        with suppress(OSError):
            for about in folder.iterdir():
                if about.suffix in (".dist-info", ".egg-info"):
                    with suppress(OSError):
                        if section in (about / "entry_points.txt").read_bytes():
                            return True
    return False


@dataclass(frozen=True)
class Plugins:
    """What installed packages offer of one kind. Nothing is imported until it is asked for."""

    group: str
    """The group of entry points, such as `skm.planners`."""
    kind: str
    """What one of them is called in messages, such as `planner`."""

    def names(self) -> tuple[str, ...]:
        """Return the names that packages have given, in alphabetical order."""
        return tuple(sorted(_entries(self.group)))

    def location(self, name: str) -> str | None:
        """Return where a plugin is, as `package.module:ATTRIBUTE`; None if there is none."""
        entry = _entries(self.group).get(name)
        return None if entry is None else entry.value

    def source(self, name: str) -> str:
        """Return what to call a plugin in messages: its kind, its name and its package."""
        entry = _entries(self.group)[name]
        package = entry.dist.name if entry.dist is not None else "unknown"
        return f"the {self.kind} '{name}' of the package '{package}' ({entry.value})"

    def load(self, name: str) -> Callable[..., Any]:
        """Import a plugin; what goes wrong is said with the name of its package."""
        try:
            found = _entries(self.group)[name].load()
        except SkmError:
            raise
        except Exception as error:  # whatever a module of somebody else's does when it is imported
            raise PluginError(
                f"{self.source(name)} cannot be loaded: {said(error)}. Fix or uninstall it."
            ) from error
        if not callable(found):
            raise PluginError(
                f"{self.source(name)} is a {type(found).__name__}, not a function or a class."
            )
        return found  # type: ignore[no-any-return]

    def call(self, name: str, *arguments: Any) -> Any:  # noqa: ANN401 - whatever the plugin takes
        """Load a plugin and call it, guarded."""
        return self.guarded(name, self.load(name))(*arguments)

    def guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a plugin whose faults name its package, and the line that failed.

        A mission that such a function breaks ends with that message; the process goes on.
        """

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            try:
                return function(*arguments, **options)
            except SkmError:
                raise
            except Exception as error:
                last = _own_frame(error, function)
                where = f"{Path(last.filename).name}, line {last.lineno}"
                raise PluginError(
                    f"{self.source(name)} failed in {where}: {said(error)}."
                ) from error

        return call


def _own_frame(error: Exception, function: Callable[..., Any]) -> traceback.FrameSummary:
    """Return the last line of a plugin's own package on the way to an error; else the last of all."""
    frames = traceback.extract_tb(error.__traceback__)
    module = sys.modules.get(function.__module__.partition(".")[0])
    file = getattr(module, "__file__", None)
    if file is None:
        return frames[-1]
    place = str(Path(file).parent) if hasattr(module, "__path__") else file
    return next(
        (frame for frame in reversed(frames) if frame.filename.startswith(place)), frames[-1]
    )
