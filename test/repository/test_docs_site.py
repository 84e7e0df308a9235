"""The site of the documentation builds without a warning, and has a text for every public name."""

import argparse
import importlib
import json
import os
import runpy
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import griffe
import pytest

from browser import chromium
from skm_cli.main import build_parser

ROOT = Path(__file__).parents[2]
PACKAGES = ("skm_machine", "skm_sim", "skm_primitives", "skm_ros", "skm_web")
SITE = runpy.run_path(str(ROOT / "tools" / "docs_site.py"))
NODES = SITE["NODES"]


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and logs nothing."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(site, package):
    page = (site / "reference" / "api" / f"{package}.html").read_text()
    names = [name for name in importlib.import_module(package).__all__ if name != "__version__"]
    assert [name for name in names if f".{name}" not in page] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_and_each_of_its_members_has_a_text(package):
    """Methods, properties and attributes, too: the reference leaves out what has no text."""
    public, module = (
        importlib.import_module(package),
        griffe.load(package, search_paths=[ROOT / "src"]),
    )
    silent = []
    for name in public.__all__:
        value = getattr(public, name)
        if not hasattr(value, "__qualname__"):  # a constant; the test above finds its text
            continue
        found = module[f"{value.__module__}.{name}".removeprefix(f"{package}.")]
        members = found.members.items() if found.is_class else ()
        own = {inner: part for inner, part in members if not inner.startswith("_")}
        parts = {name: found, **{f"{name}.{inner}": part for inner, part in own.items()}}
        silent += [path for path, part in parts.items() if not part.is_alias and not part.docstring]
    assert silent == []


def test_every_option_of_every_command_has_a_help():
    silent = []

    def look(parser, path):
        (getattr(parser, "before_help", None) or (lambda: None))()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, inner in action.choices.items():
                    look(inner, f"{path} {name}")
            elif not action.help:
                silent.append(f"{path} {action.option_strings or action.dest}")

    look(build_parser(), "skm")
    assert silent == []


def test_every_parameter_field_and_constant_of_ros_is_explained():
    for node in NODES:
        for setting in importlib.import_module(f"skm_ros.nodes.{node}_node").SETTINGS:
            assert setting.description, f"{node}: {setting.name}"
    for path in (path for kind in ("msg", "srv", "action") for path in (ROOT / kind).iterdir()):
        before = ""
        for line in path.read_text().splitlines():
            declares = line and not line.startswith(("#", "---"))
            assert not declares or "#" in line or before.startswith("#"), f"{path.name}: {line}"
            before = line


def test_the_page_of_exit_codes_says_what_the_code_says():
    """If not: `.venv/bin/python tools/docs_site.py` writes it."""
    assert (ROOT / "docs" / "reference" / "exit_codes.md").read_text() == SITE["exit_codes"]()


def test_the_search_index_has_the_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    pages = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert {
        "reference/commands.html",
        "reference/parameters.html",
        "reference/glossary.html",
    } <= pages


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


SEARCHED = {
    "avoid": ("glossary", "planning", "first_mission", "read_a_mission", "environments"),
    "reach-avoid": ("glossary", "read_a_mission", "for_rl_researchers"),
    "safety": ("safety", "for_formal_methods", "planning", "glossary"),
    "option": ("glossary", "planning", "for_rl_researchers"),
    "product automaton": ("glossary", "planning", "for_formal_methods"),
    "Büchi": ("glossary", "for_formal_methods", "missions"),
    "counterexample": ("glossary", "for_formal_methods", "read_a_mission"),
    "lookahead": ("glossary", "robots"),
    "replan": ("glossary", "for_nav2_users"),
    "localisation": ("glossary", "for_nav2_users"),
    "costmap": ("for_nav2_users", "glossary"),
    "keep-out": ("glossary", "for_nav2_users", "robots"),
    "checkpoint": ("glossary", "for_rl_researchers"),
    "evaluation seed": ("glossary", "for_rl_researchers", "environments"),
    "training seed": ("train", "glossary", "for_rl_researchers"),
    "shield": ("glossary", "planning"),
    "reward machine": ("glossary", "read_a_mission", "missions"),
    "LTL": ("missions", "for_formal_methods", "glossary"),
    "recurring mission": ("read_a_mission", "glossary", "missions", "planning"),
    "event": ("read_a_mission", "glossary", "missions", "ros"),
    "recording": ("recording",),
    "Nav2": ("for_nav2_users", "robots", "glossary"),
    "AMCL": ("robots", "for_nav2_users", "glossary"),
    "behaviour tree": ("for_nav2_users", "ros"),
    "Gymnasium": ("your_environment", "environments", "domains"),
    "proposition": ("glossary", "missions", "your_environment"),
    "constraint": ("glossary", "maps", "environments", "your_environment"),
    "goal-conditioned": ("glossary", "for_rl_researchers"),
    "zero-shot": ("glossary", "for_rl_researchers", "few_shot"),
    "few-shot": ("few_shot",),
    "fine-tuning": ("glossary", "for_rl_researchers", "few_shot"),
    "exit code": ("exit_codes",),
    "quality of service": ("ros",),
    "lifecycle": ("for_nav2_users", "ros", "systems"),
    "odometry": ("your_robot", "robots", "glossary"),
    "emergency stop": ("glossary", "limits", "your_robot"),
    "deadline": ("glossary", "missions", "planning"),
    "feasibility": ("glossary", "planning"),
    "team": ("large_missions",),
    "priority": ("ros", "commands", "limits"),
    "docker": ("install",),
    "troubleshooting": ("install",),
}
"""Words that people of the field look for, and the pages of which one must come first."""
FIRST_RESULT = (
    "() => [...document.querySelectorAll('.md-search-result__item a')].slice(0, 1)"
    ".map(link => new URL(link.href).pathname.split('/').pop().split('.')[0])[0] ?? ''"
)


def test_the_search_finds_the_page_for_each_word_of_the_field(site):
    """The site's own search, in a real browser: the first result is a page that explains the word."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, chromium() as browser:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        box = "[data-md-component=search-query]"
        page.focus(box)
        found = {}
        for word, right in SEARCHED.items():
            page.fill(box, word)
            page.press(box, "End")  # the search listens to keys
            deadline = time.monotonic() + (10 if found else 60)  # the index is loaded first
            while page.evaluate(FIRST_RESULT) not in right and time.monotonic() < deadline:
                page.wait_for_timeout(20)
            found[word] = page.evaluate(FIRST_RESULT)
        server.shutdown()
    wrong = {word: first for word, first in found.items() if first not in SEARCHED[word]}
    assert wrong == {}
    assert len(found) >= 40
