"""The one checkpoint format: arrays in `NAME.safetensors`, and beside them the card `NAME.json`.

The card says what the arrays are (domain, learner, command, seed, steps, scores), holds whatever
else the learner needs as JSON, and pins the arrays by their SHA-256. Nothing is ever unpickled.

A kill at any moment leaves a usable checkpoint, the old one or the new one. Both files are first
written as `….pending`; then the arrays are put in place, then the card. In between, `load` knows the
new card, still pending, by the digest of the new arrays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from skm_machine.documents import read_json
from skm_machine.errors import SkmError

FORMAT = "skm-checkpoint"
VERSION = 1
SUFFIX = ".safetensors"


class CheckpointError(SkmError):
    """A checkpoint that cannot be used; each subclass is one reason."""


class MissingCheckpointError(CheckpointError):
    """There is no file of arrays at that path."""


class MissingCardError(CheckpointError):
    """The arrays are there, the card that says what they are is not."""


class ForeignFileError(CheckpointError):
    """The file was not written by skm."""


class CheckpointVersionError(CheckpointError):
    """The card is of a format version that this skm does not read."""


class TruncatedCheckpointError(CheckpointError):
    """The file of arrays ends before its arrays do."""


class DigestMismatchError(CheckpointError):
    """The arrays are not those that the card describes."""


class MalformedCheckpointError(CheckpointError):
    """Arrays or details that are missing, of the wrong shape, or not numbers."""


class WrongDomainError(CheckpointError):
    """The checkpoint was trained in another domain than the one that it is asked for."""


@dataclass(frozen=True)
class Card:
    """What a checkpoint says about itself, in readable JSON."""

    domain: str
    """The domain that the skills were learned in."""
    learner: str
    """Which learner wrote it and can read it, such as `tabular`."""
    command: str
    """The command line that made it."""
    seed: int
    """The seed that they were learned with."""
    steps: int
    """Environment steps taken so far."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What they reached when they were measured at the end of training."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Anything else as JSON: settings, names, counters, states of random generators."""
    digest: str = ""
    """SHA-256 of the file of arrays; `save` fills it in."""


_KINDS: dict[str, type] = {
    **dict.fromkeys(("domain", "learner", "command", "digest"), str),
    **dict.fromkeys(("seed", "steps"), int),
    **dict.fromkeys(("scores", "details"), dict),
}
"""What the entries of a card must be."""


def card_path(path: Path) -> Path:
    """Return where the card of the checkpoint at `path` lies."""
    return path.with_suffix(".json")


def _pending_path(path: Path) -> Path:
    return path.with_suffix(".json.pending")


def save(path: str | Path, arrays: Mapping[str, NDArray[Any]], card: Card) -> Card:
    """Write a checkpoint, replacing any at that path; return the card with its digest."""
    target = checkpoint_path(path)
    data = safetensors.numpy.save({k: np.asarray(v, order="C") for k, v in arrays.items()})
    signed = replace(card, digest=hashlib.sha256(data).hexdigest())
    document = {"format": FORMAT, "version": VERSION, **asdict(signed)}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    temporary, pending = target.with_suffix(SUFFIX + ".pending"), _pending_path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(temporary, data)
        _write(pending, text.encode())
        temporary.replace(target)
        pending.replace(card_path(target))
    except OSError as error:
        raise CheckpointError(f"cannot write the checkpoint {target}: {error}.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return signed


def load(path: str | Path, domain: str | None = None) -> tuple[dict[str, NDArray[Any]], Card]:
    """Read and verify a checkpoint; with `domain`, it must have been trained there."""
    target = checkpoint_path(path)
    data = _read(target)
    card = _card_for(target, data)
    if domain is not None and card.domain != domain:
        raise WrongDomainError(
            f"{target} was trained in the domain '{card.domain}', not in '{domain}'; give a"
            f" checkpoint of '{domain}', or use this one there."
        )
    arrays = safetensors.numpy.load(data)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise MalformedCheckpointError(
                f"{target}: the array '{name}' holds not-a-number or infinity, so nothing can be"
                " served from it or go on from it; train anew."
            )
    return arrays, card


@contextlib.contextmanager
def understood(path: str | Path) -> Iterator[None]:
    """Say of whatever goes wrong while a checkpoint is taken apart that it is malformed."""
    try:
        yield
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        text = " ".join(str(error).split())[:200]
        raise MalformedCheckpointError(
            f"{checkpoint_path(path)} and its card do not fit together, or lack something"
            f" ({type(error).__name__}: {text}); copy both again from where they came, or train anew."
        ) from error


def expect_shape(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> None:
    """Refuse an array that has not this shape; None stands for any length."""
    wanted = len(shape) == array.ndim and all(
        length is None or length == found for length, found in zip(shape, array.shape, strict=True)
    )
    if not wanted:
        text = ", ".join("any" if length is None else str(length) for length in shape)
        raise MalformedCheckpointError(
            f"the checkpoint's array '{name}' has the shape {array.shape}, not ({text}); train anew."
        )


def checkpoint_path(path: str | Path) -> Path:
    """Return the path of the file of arrays; the suffix may be left out."""
    given = Path(path)
    return given if given.suffix == SUFFIX else given.with_name(given.name + SUFFIX)


def _write(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingCheckpointError(
            f"there is no checkpoint at {path}; `skm train DOMAIN --out {path}` makes one."
        ) from None
    except OSError as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error.strerror}.") from error


def _card_for(path: Path, data: bytes) -> Card:
    """Return the card that describes these arrays, after checking that they are whole."""
    _check_whole(path, data)
    digest = hashlib.sha256(data).hexdigest()
    pending = _pending_path(path)
    if pending.exists():  # A save was cut short; if the arrays are the new ones, so is this card.
        try:
            card = _read_card(pending)
        except CheckpointError:
            card = None
        if card is not None and card.digest == digest:
            return card
    if not card_path(path).exists():
        raise MissingCardError(
            f"{path} has no card: {card_path(path)} is missing. Keep the two files together."
        )
    card = _read_card(card_path(path))
    if card.digest != digest:
        raise DigestMismatchError(
            f"{path} is not the file that {card_path(path)} describes: its SHA-256 is"
            f" {digest[:12]}…, the card says {card.digest[:12]}…. One of the two was replaced or"
            " damaged; copy both again from where they came."
        )
    return card


def _check_whole(path: Path, data: bytes) -> None:
    """Tell a truncated file from one of another kind, before the card is looked at."""
    foreign = ForeignFileError(
        f"{path} is not a safetensors file, so it is not a checkpoint of skm."
    )
    if not data:
        raise TruncatedCheckpointError(f"{path} is empty; copy it again, or train anew.")
    length = int.from_bytes(data[:8], "little")
    if data[8:9] not in (b"{", b"") or length > 100_000_000:
        raise foreign
    if len(data) < 8 + length:
        raise TruncatedCheckpointError(
            f"{path} is truncated: it ends inside its header. Copy it again, or train anew."
        )
    try:
        header = read_json(data[8 : 8 + length])
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name[:2] != "__"]
        expected = 8 + length + max(ends, default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise foreign from None
    if len(data) < expected:
        raise TruncatedCheckpointError(
            f"{path} is truncated: {len(data)} of {expected} bytes. Copy it again, or train anew."
        )


def _read_card(path: Path) -> Card:
    """Parse a card, and say what is wrong with one that is not ours or not of our version."""
    try:
        document = read_json(path.read_text("utf-8"))
    except ValueError:
        raise ForeignFileError(
            f"{path} is not JSON, so it is not the card of a checkpoint."
        ) from None
    except OSError as error:
        raise CheckpointError(f"cannot read the card {path}: {error.strerror or error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ForeignFileError(
            f"{path} is not the card of a checkpoint: it lacks 'format': '{FORMAT}'."
        )
    if document.get("version") != VERSION:
        raise CheckpointVersionError(
            f"{path} has format version {document.get('version')}, this skm reads {VERSION};"
            " use the skm that wrote it, or train anew."
        )
    names = [entry.name for entry in fields(Card)]
    missing = [name for name in names if name not in document]
    if not isinstance(document.get("details", {}), dict):
        raise ForeignFileError(f"{path} is not a complete card: its details are not a JSON object.")
    if missing:
        raise ForeignFileError(f"{path} is not a complete card: it lacks {', '.join(missing)}.")
    for name, kind in _KINDS.items():
        if not isinstance(document[name], kind) or isinstance(document[name], bool):
            raise ForeignFileError(
                f"{path} is not a complete card: its {name} is {reprlib.repr(document[name])}."
            )
    for name in ("propositions", "constraints"):
        found = document["details"].get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise ForeignFileError(
                f"{path} is not a complete card: its {name} are not a list of names."
            )
    return Card(**{name: document[name] for name in names})
