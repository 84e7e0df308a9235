"""Skills that travel: releases of checkpoints in a folder, or in a repository of Hugging Face.

A store has a folder for each release, `NAME/`: the checkpoint (`skills.safetensors` and its card
`skills.json`, the one format), `release.json` with licence, seed and results, and a `README.md` that
says the same to people. What is pulled is verified by the digest in its card; nothing is unpickled.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from skm_machine.documents import read_json
from skm_machine.errors import SkmError, did_you_mean
from skm_machine.version import __version__
from skm_primitives.skills import checkpoint as checkpoints
from skm_primitives.skills.checkpoint import Card

FORMAT: Final = "skm-skills"
VERSION: Final = 1
HUB: Final = "hf://"
"""How the place of a repository of Hugging Face begins: `hf://owner/name`."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CHECKPOINT: Final = "skills"


class StoreError(SkmError):
    """A release that cannot be pushed, found or read; the message says what would be right."""


@dataclass(frozen=True)
class Release:
    """What a store says of some skills."""

    name: str
    domain: str
    learner: str
    licence: str
    """As SPDX names it, such as Apache-2.0."""
    seed: int
    steps: int
    command: str
    """The command line that made them."""
    digest: str
    results: tuple[Mapping[str, Any], ...] = ()
    """What was measured with them, as `skm eval --json` writes it, each document whole."""
    skm: str = __version__


def push(
    checkpoint: str | Path,
    store: str,
    name: str,
    licence: str,
    results: Sequence[Mapping[str, Any]] = (),
    *,
    overwrite: bool = False,
) -> Release:
    """Put a checkpoint into a store, with its card, results and licence; return what was put there."""
    arrays, card = checkpoints.load(checkpoint)
    release = Release(
        _checked_name(name),
        card.domain,
        card.learner,
        _checked_licence(licence),
        card.seed,
        card.steps,
        card.command,
        card.digest,
        tuple(results),
    )
    for result in results:
        evaluated = result.get("domain", card.domain)
        if evaluated != card.domain:
            raise StoreError(
                f"the results are of the domain '{evaluated}', the skills of '{card.domain}'."
            )
    with _writable(store, name, overwrite=overwrite) as root:
        folder = root / name
        signed = checkpoints.save(folder / _CHECKPOINT, arrays, card)
        release = Release(**{**_fields(release), "digest": signed.digest})
        document = {"format": FORMAT, "version": VERSION, **asdict(release)}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        (folder / "release.json").write_text(text, encoding="utf-8")
        (folder / "README.md").write_text(_page(release, card, store), encoding="utf-8")
    return release


def releases(store: str) -> list[Release]:
    """Return what is in a store, by name."""
    with _readable(store) as root:
        return [_read(path.parent) for path in sorted(root.glob("*/release.json"))]


def pull(store: str, name: str, out: str | Path, *, overwrite: bool = False) -> Release:
    """Bring a release here, as a checkpoint at `out`; refuses one that is not what its card says."""
    target = checkpoints.checkpoint_path(out)
    if target.exists() and not overwrite:
        raise StoreError(f"{target} exists; choose another --out, or --overwrite.")
    with _readable(store) as root:
        known = [path.parent.name for path in root.glob("*/release.json")]
        if _checked_name(name) not in known:
            raise StoreError(f"{store} has no release '{name}'{did_you_mean(name, known)}")
        release = _read(root / name)
        arrays, card = checkpoints.load(root / name / _CHECKPOINT, release.domain)
    if card.digest != release.digest:
        raise StoreError(
            f"the skills of the release '{name}' are not those that release.json describes: one of the"
            " two was replaced; ask who pushed them."
        )
    checkpoints.save(target, arrays, card)
    return release


def _fields(release: Release) -> dict[str, Any]:
    return {name: getattr(release, name) for name in Release.__dataclass_fields__}


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise StoreError(f"a release is named by letters, digits, '-', '_' and '.', not '{name}'.")
    return name


def _checked_licence(licence: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*", licence):
        raise StoreError(
            f"a licence is an SPDX name such as Apache-2.0 or CC-BY-4.0, not '{licence}'."
        )
    return licence


def _read(folder: Path) -> Release:
    path = folder / "release.json"
    try:
        document = read_json(path.read_text("utf-8"))
    except ValueError:
        raise StoreError(f"{path} is not JSON, so it is not a release of skills.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StoreError(f"{path} is not a release of skills: it lacks 'format': '{FORMAT}'.")
    if document.get("version") != VERSION:
        raise StoreError(f"{path} has version {document.get('version')}, this skm reads {VERSION}.")
    kinds: dict[str, type] = dict.fromkeys(Release.__dataclass_fields__, str)
    kinds |= {"seed": int, "steps": int, "results": list}
    for name, kind in kinds.items():
        if not isinstance(document.get(name), kind):
            raise StoreError(f"{path} is not a complete release: its {name} is missing or wrong.")
    if document["name"] != folder.name:
        raise StoreError(f"{path} is the release '{document['name']}' in a folder of another name.")
    given = {name: document[name] for name in kinds}
    return Release(**{**given, "results": tuple(document["results"])})


@contextmanager
def _readable(store: str) -> Iterator[Path]:
    """Give the folder of a store: itself, or a copy of the repository."""
    if store.startswith(HUB):
        yield Path(_hub().snapshot_download(store.removeprefix(HUB)))
        return
    folder = Path(store).expanduser()
    if not folder.is_dir():
        raise StoreError(f"there is no folder {store}; `skm skills push` makes it.")
    yield folder


@contextmanager
def _writable(store: str, name: str, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to put the release `name` into, and see that it gets where it belongs."""
    taken = StoreError(f"{store} has a release '{name}'; choose another name, or --overwrite.")
    if not store.startswith(HUB):
        folder = Path(store).expanduser()
        if (folder / name).exists() and not overwrite:
            raise taken
        yield folder
        return
    hub, repository = _hub(), store.removeprefix(HUB)
    hub.create_repo(repository, exist_ok=True)
    there = any(path.startswith(f"{name}/") for path in hub.list_repo_files(repository))
    if there and not overwrite:
        raise taken
    with tempfile.TemporaryDirectory() as local:
        yield Path(local)
        given = {"folder_path": str(Path(local) / name), "path_in_repo": name}
        hub.upload_folder(repo_id=repository, **given)


def _hub() -> Any:  # noqa: ANN401 - a package that is not always there
    try:
        import huggingface_hub  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StoreError(
            "repositories of Hugging Face need huggingface_hub; install it with"
            " `pip install 'skm[hub]'`, or name a folder."
        ) from error
    return huggingface_hub


def _page(release: Release, card: Card, store: str) -> str:
    """Return the README of a release: its head is what Hugging Face reads."""
    lines = [
        "---",
        f"license: {release.licence.lower()}",
        "library_name: skm",
        f"tags: [skm, reinforcement-learning, {release.domain}]",
        "---",
        f"# {release.name}",
        "",
        f"Skills of the domain `{release.domain}` for skm, learned by `{release.learner}`.",
        "",
        "```sh",
        f"skm skills pull {release.name} --from {store} --out {release.name}",
        f"skm run {release.domain} MISSION --checkpoint {release.name}",
        "```",
        "",
        "| | |",
        "|---|---|",
        f"| licence | {release.licence} |",
        f"| made by | `{release.command}`, skm {release.skm} |",
        f"| seed | {release.seed} |",
        f"| steps | {release.steps} |",
        f"| SHA-256 of the arrays | `{release.digest}` |",
        *(f"| {name} | {value} |" for name, value in card.scores.items()),
        "",
    ]
    if release.results:
        lines += ["## Results", ""]
        for result in release.results:
            plain = {k: v for k, v in result.items() if isinstance(v, str | int | float)}
            lines += ["| " + " | ".join(plain) + " |", "|" + "---|" * len(plain)]
            lines += ["| " + " | ".join(str(value) for value in plain.values()) + " |", ""]
    return "\n".join(lines)
