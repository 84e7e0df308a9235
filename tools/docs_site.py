"""The site's hooks for MkDocs: reference pages from the code, and pages that are not below docs/.

    make docs                              the site
    .venv/bin/python tools/docs_site.py    docs/reference/exit_codes.md, which is in the repository

MkDocs calls the functions `on_…` (mkdocs.yml names this file). `GENERATED` are the reference pages: each
is made anew by every build, so none can be out of date. Of the one that readers of the repository need,
a test says when it is.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
BESIDES: Final = (
    *("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "QUALITY_DECLARATION.md", "RELEASING.md"),
    "benchmarks/README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/**/README.md")),
)
"""Pages of the repository that are not below docs/ and are on the site."""
API: Final = ("skm_machine", "skm_sim", "skm_primitives", "skm_ros", "skm_web")
NODES: Final = (
    "sim",
    "primitives",
    "machine",
    "bridge",
    "recorder",
    "monitor",
    "web",
    "foxglove",
    "car",
    "team",
)
SECTIONS: Final = {
    "Tutorials": "tutorials",
    "How-to": "how-to",
    "Reference": "reference",
    "Python API": "reference/api",
    "Explanation": "explanation",
    "Results": "results",
}
BOOSTS: Final = {
    "reference/glossary.md": 50.0,
    "reference/api/": 0.0001,
    "reference/": 2.0,
    "tutorials/": 4.0,
    "how-to/": 4.0,
    "explanation/": 4.0,
    "results/": 0.01,
    "README.md": 1.0,
    "": 0.001,
}
"""What the site's search puts first: the first of these that a page's path begins with counts."""
MOST_TOLD: Final = 1e12
"""A larger limit is none that anybody meets."""
LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


# Reference pages, from the code.


def commands() -> str:
    """Return every command's help, as `skm COMMAND --help` prints it."""
    from skm_cli.main import COMMANDS, build_parser  # noqa: PLC0415

    os.environ["COLUMNS"] = "80"  # what a page has room for
    parser = build_parser()
    texts = ["# Commands\n\nThe output of `skm COMMAND --help`. `skm help` lists the commands.\n"]
    texts.append(f"## skm\n\n```text\n{parser.format_help()}```\n")
    inner = _inner_parsers(parser)
    for name in COMMANDS:
        texts.append(f"## skm {name}\n\n```text\n{inner[name].format_help()}```\n")
        for what, command in _inner_parsers(inner[name]).items():
            texts.append(f"### skm {name} {what}\n\n```text\n{command.format_help()}```\n")
    return "\n".join(texts)


def _inner_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = (act for act in parser._actions if isinstance(act, argparse._SubParsersAction))
    return {name: command for action in found for name, command in action.choices.items()}


def exit_codes() -> str:
    """Return the table of exit codes."""
    from skm_cli.exit_codes import EVERY_COMMAND, OWN  # noqa: PLC0415

    lines = ["# Exit codes\n", "## Every command\n"]
    lines += ["| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {_cell(meaning)} |" for code, meaning in EVERY_COMMAND.items()]
    lines += ["\n## Single commands\n", "| command | code | meaning |", "|---|---|---|"]
    for command, codes in OWN.items():
        lines += [f"| `skm {command}` | {code} | {_cell(said)} |" for code, said in codes.items()]
    return "\n".join(lines) + "\n"


def json_keys() -> str:
    """Return the keys of the JSON documents, from documents that were just made."""
    from skm_cli.main import main  # noqa: PLC0415

    mission = "F(coffee & X F office) & G !decoration"
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run.mcap")
        examples = (
            ("skm check", ["check", mission, "--domain", "office", "--json"]),
            ("skm run", ["run", "office", mission, "--start", "2,2", "--record", run, "--json"]),
            ("skm verify", ["verify", run, "--json"]),
            ("skm runs", ["runs", folder, "--json"]),
            ("skm eval", ["eval", "office", "--task", "coffee", "--json"]),
        )
        texts = [
            "# JSON documents\n\nWith `--json` a command prints one JSON document on "
            "standard output. These are the "
            "keys of each, read from a document that was made while this page was built. "
            "`[]` is an item of a list. "
            "The [exit code](exit_codes.md) is the same as without `--json`. A command that could not "
            "do its work prints `error` with `kind`, `message` and `exit_code`, for a formula also "
            "`text` and `position`.\n"
        ]
        for title, arguments in examples:
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                main(arguments)
            rows = dict.fromkeys(_keys(json.loads(said.getvalue())))
            texts.append(f"## {title}\n\n| key | type |\n|---|---|\n")
            texts.append("".join(f"| `{key}` | {kind} |\n" for key, kind in rows) + "\n")
    return "".join(texts)


def _keys(document: Any, at: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    names = {dict: "object", list: "list", str: "text", bool: "true or false", type(None): "null"}
    if at:
        yield at, names.get(type(document), "number")
    if depth > 3:
        return
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _keys(value, f"{at}.{key}" if at else key, depth + 1)
    elif isinstance(document, list) and document:
        yield from _keys(document[0], f"{at}[]", depth + 1)


def parameters() -> str:
    """Return the parameters of every node, as they are declared."""
    texts = [
        "# Parameters of the nodes\n\nAs the nodes declare them; `ros2 param describe` "
        "shows the same. "
        "*Fixed* parameters are given at the start only.\n"
    ]
    for name in NODES:
        module = importlib.import_module(f"skm_ros.nodes.{name}_node")
        texts.append(f"\n## {name}\n\n| parameter | default | meaning |\n|---|---|---|\n")
        for setting in module.SETTINGS:
            limits = _limits(setting.low, setting.high)
            limits += f"; one of {', '.join(setting.choices)}" if setting.choices else ""
            limits += "; *fixed*" if setting.fixed else ""
            default = "none" if setting.default == "" else setting.default
            texts.append(
                f"| `{setting.name}` | {default} | {_cell(setting.description)}{limits} |\n"
            )
    return "".join(texts)


def _limits(low: float | None, high: float | None) -> str:
    """Return the limits of a number; those that are only what a number can be are not told."""
    if low is None or high is None:
        return ""
    return f"; {low:g} or more" if high > MOST_TOLD else f"; {low:g} to {high:g}"


def systems() -> str:
    """Return the systems that `skm up` starts, with their arguments."""
    from skm_ros.graph import load_systems  # noqa: PLC0415

    loaded = load_systems()
    general = next(iter(loaded.values())).arguments
    texts = [
        "# Systems and their arguments\n\n`skm up SYSTEM --argument value` and "
        "`ros2 launch skm SYSTEM.launch.py argument:=value` start the same nodes, from "
        "`config/graph.yaml`.\n\n## Systems\n\n"
        "| system | what it is | nodes | its own defaults |\n|---|---|---|---|\n"
    ]
    base = load_defaults()
    for system in loaded.values():
        own = ", ".join(
            f"`{argument.name}` {argument.default}"
            for argument in system.arguments.values()
            if argument.default != base[argument.name]
        )
        nodes = ", ".join(system.members)
        texts.append(f"| `{system.name}` | {_cell(system.description)} | {nodes} | {own} |\n")
    texts.append("\n## Arguments\n\n| argument | default | meaning |\n|---|---|---|\n")
    for argument in general.values():
        default = "none" if base[argument.name] == "" else base[argument.name]
        texts.append(f"| `{argument.name}` | {default} | {_cell(argument.description)} |\n")
    return "".join(texts)


def load_defaults() -> dict[str, Any]:
    """Return the general defaults of config/graph.yaml."""
    import yaml  # noqa: PLC0415

    graph = yaml.safe_load((ROOT / "config" / "graph.yaml").read_text(encoding="utf-8"))
    return {name: about["default"] for name, about in graph["arguments"].items()}


def interfaces() -> str:
    """Return topics, services and actions by node, then the fields of every interface."""
    graph = json.loads((ROOT / "test/data/golden/graph.json").read_text(encoding="utf-8"))
    texts = [
        "# Topics and messages\n\n## Topics, services and actions\n\nOf the systems "
        "`office` and `robot`. "
        "What every ROS node has besides (parameters, `/rosout`) is left out.\n\n"
        "| node | publishes | subscribes to | serves |\n|---|---|---|---|\n"
    ]
    for system in ("office", "robot"):
        for node, about in graph[system].items():
            cells = [_names(about[kind], node) for kind in ("publishes", "subscribes", "serves")]
            texts.append(f"| {node} ({system}) | {' | '.join(cells)} |\n")
    texts.append("\n## Messages\n")
    for kind in ("msg", "srv", "action"):
        for path in sorted((ROOT / kind).glob(f"*.{kind}")):
            texts.append(f"\n### skm/{kind}/{path.stem}\n\n```text\n{path.read_text('utf-8')}```\n")
    return "".join(texts)


def _names(found: dict[str, str], node: str) -> str:
    hidden = re.compile(rf"/(rosout|parameter_events|{node})\b|_action/(?!send_goal)")
    shown = []
    for name, kind in found.items():
        if "_action/send_goal" in name:
            shown.append("`execute_mission` (action skm/action/ExecuteMission)")
        elif not hidden.search(name):
            shown.append(f"`{name.removeprefix('/skm/')}` ({kind})")
    return "<br>".join(shown)


def api(package: str) -> str:
    """Return a page with everything that a package makes public."""
    module = importlib.import_module(package)
    texts = [f"# {package}\n\n{(module.__doc__ or '').strip()}\n"]
    for name in module.__all__:
        if name.startswith("__"):
            continue
        value = getattr(module, name)
        where = getattr(value, "__module__", None)
        if where is None or not where.startswith("skm_") or not hasattr(value, "__qualname__"):
            where = _defining_module(package, name)
        texts.append(f"\n::: {where}.{name}\n")
    return "".join(texts)


def _defining_module(package: str, name: str) -> str:
    """Return the module that assigns a constant or an alias, which cannot say so itself."""
    assigned = re.compile(rf"^(type )?{name}\b.*?=", re.MULTILINE)
    for path in sorted((ROOT / "src" / package).rglob("*.py")):
        if path.name != "__init__.py" and assigned.search(path.read_text(encoding="utf-8")):
            return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    raise LookupError(f"nothing in {package} assigns {name}")


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ").replace("<", "&lt;")


COMMITTED: Final = {"reference/exit_codes.md": exit_codes}
GENERATED: Final[dict[str, Callable[[], str]]] = {
    "reference/commands.md": commands,
    "reference/json.md": json_keys,
    "reference/parameters.md": parameters,
    "reference/systems.md": systems,
    "reference/interfaces.md": interfaces,
    **{f"reference/api/{package}.md": (lambda package=package: api(package)) for package in API},
}


# What MkDocs calls.


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the code be found."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add generated pages and those beside docs/, and name every page in the navigation."""
    for uri, make in GENERATED.items():
        files.append(File.generated(config, uri, content=make()))
    for uri in BESIDES:
        if (ROOT / uri).exists():
            files.append(_file(config, uri))
            for _, _, target, _ in LINK.findall((ROOT / uri).read_text(encoding="utf-8")):
                picture = posixpath.normpath(posixpath.join(posixpath.dirname(uri), target))
                known = picture.startswith("docs/") or picture in files.src_uris
                if not known and picture.endswith((".png", ".svg", ".gif")):
                    files.append(_file(config, picture))
    nav = {next(iter(item)): next(iter(item.values())) for item in config.nav or []}
    named = re.findall(r"[\w/-]+\.md", str(nav))
    for page in files.documentation_pages():
        folder = posixpath.dirname(page.src_uri)
        section = {path: title for title, path in SECTIONS.items()}.get(folder, "Project")
        if page.src_uri not in named:
            nav[section].append(page.src_uri)
    config.nav = [{title: pages} for title, pages in nav.items()]
    return files


def _file(config: MkDocsConfig, uri: str) -> File:
    return File(uri, str(ROOT), config.site_dir, config.use_directory_urls)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    uri = page.file.src_uri
    page.meta["search"] = {"boost": next(b for path, b in BOOSTS.items() if uri.startswith(path))}
    if uri in GENERATED:
        return markdown
    here = posixpath.dirname(uri if uri in BESIDES else f"docs/{uri}")

    def target_on_site(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(here, target))
        site = path.removeprefix("docs/") if path != "README.md" else path
        if path == "docs":
            site = "README.md"
        if site in files.src_uris:
            relative = posixpath.relpath(site, posixpath.dirname(uri) or ".")
            return f"{picture}[{text}]({relative}{anchor or ''})"
        if not (ROOT / path).exists():
            return match[0]  # MkDocs warns of it
        return f"[{text}]({config.repo_url}/blob/main/{path})" if config.repo_url else text

    return re.sub(LINK, target_on_site, markdown)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]
    for written, text in COMMITTED.items():
        (ROOT / "docs" / written).write_text(text(), encoding="utf-8")
