"""Faults of somebody's environment, told as one sentence that says where they happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
            f"the environment '{env_id}' of the domain '{name}' cannot be made ({said(error)});"
            " `skm_sim.check_domain` looks for the reason."
        ) from error


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
