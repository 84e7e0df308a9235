"""Faults of somebody's environment, told as one sentence that says where they happened."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import gymnasium
import numpy as np

from skm_machine.errors import SkmError


class DomainError(SkmError):
    """A domain that is unknown or does not fit together; the message says what would be right."""


@contextmanager
def making_faults(name: str, env_id: str, extra: str) -> Iterator[None]:
    """Say why the environment of a domain cannot be made; `extra` is the spec's."""
    try:
        yield
    except ImportError as error:
        wanted, _, module = extra.partition(": ")
        if wanted and error.name is not None and error.name.split(".")[0] == module:
            raise DomainError(
                f"the domain '{name}' needs {module}; install it with"
                f" `pip install 'skm[{wanted}]'`."
            ) from error
        raise DomainError(
            f"the environment '{env_id}' of the domain '{name}' cannot be imported ({error});"
            " install what it needs."
        ) from error
    except gymnasium.error.UnregisteredEnv as error:
        raise DomainError(
            f"Gymnasium does not know the environment '{env_id}' of the domain '{name}'"
            f" ({said(error)}); list it in the spec's `environments`, or register it in the module"
            " of the spec."
        ) from error
    except SkmError:
        raise
    except Exception as error:
        raise DomainError(
            f"the environment '{env_id}' of the domain '{name}' cannot be made:"
            f" {cause_of(error).rstrip('.')}."
        ) from error


def made(env_id: str) -> gymnasium.Env[Any, Any]:
    """Return `gymnasium.make(env_id)`, unchecked; a `DomainError` says why it cannot be made."""
    try:
        return gymnasium.make(env_id, disable_env_checker=True)
    except gymnasium.error.UnregisteredEnv as error:
        raise DomainError(
            f"Gymnasium does not know the environment '{env_id}' ({said(error)}); register the id with"
            " gymnasium.register when your package is imported, and import it first."
        ) from error
    except Exception as error:
        wanted = isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled)
        advice = " Install what it needs." if wanted else ""
        raise DomainError(
            f"the environment '{env_id}' cannot be made: {cause_of(error).rstrip('.')}.{advice}"
        ) from error


def cause_of(error: BaseException) -> str:
    """Return what was raised first, where, by which line, and the versions of what that file imports.

    Gymnasium passes errors of constructors on with texts of its own, and a bare `assert` has none: the
    line tells. An environment that was written for another version of its simulator is a common
    cause, and is seen by the versions. skm's own messages are passed on unchanged.
    """
    if isinstance(error, SkmError):
        return said(error)
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    if isinstance(error, SkmError) or error.__traceback__ is None:
        return said(error)
    last, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = "/".join(Path(frame.filename).parts[-2:])
    versions = {}
    for value in last.f_globals.values():
        if isinstance(value, ModuleType):
            package = value.__name__.split(".")[0]
            version = getattr(sys.modules.get(package), "__version__", None)
            if isinstance(version, str) and package not in sys.stdlib_module_names:
                versions[package] = version
    own = str(last.f_globals.get("__name__", "")).split(".")[0]
    version = getattr(sys.modules.get(own), "__version__", None)
    if isinstance(version, str):
        versions[own] = version
    there = "".join(f", {name} {number}" for name, number in sorted(versions.items()))
    line = f" `{frame.line}`" if frame.line else ""
    return f"{said(error)} at {place}:{frame.lineno}{line}{there and f' (with {there[2:]})'}"


MANY_AGENTS: Final = (
    "this is a PettingZoo environment, of several agents; skm learns the skills of one robot. What is"
    " possible: a Gymnasium environment of one of its agents, whose step() lets the others act by"
    " policies of their own, labelled by label_env; one for each robot, if several have missions."
)


def refuse_many_agents(env: object) -> None:
    """Refuse an environment of PettingZoo with a sentence that says what is possible."""
    several = hasattr(env, "possible_agents") and hasattr(env, "observation_spaces")
    if several and not isinstance(env, gymnasium.Env):
        raise DomainError(MANY_AGENTS)


@contextmanager
def environment_faults(name: str, where: str) -> Iterator[None]:
    """Turn whatever an environment raises in `where` into a `DomainError`; ours pass as they are."""
    try:
        yield
    except SkmError:
        raise
    except Exception as error:
        raise DomainError(
            f"the environment of '{name}' failed in {where} ({said(error)});"
            " `skm_sim.check_domain` looks for the reason."
        ) from error


def said(error: BaseException) -> str:
    """Return an error as one line: its kind and its text, or ours as it is."""
    text = " ".join(str(error).split())[:300]
    if isinstance(error, SkmError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def check_finite(observations: object, name: str, where: str) -> None:
    """Refuse observations with not-a-number or infinity in them: nothing can be learned from them."""
    array = np.asarray(observations)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DomainError(
            f"the environment of '{name}' gave an observation in {where} that holds not-a-number or"
            " infinity; find out where it is made."
        )
