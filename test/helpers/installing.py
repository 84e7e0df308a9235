"""Packages of somebody else's, really installed by pip, and used in this process."""

import importlib
import shutil
import subprocess
import sys
from types import SimpleNamespace

from skm_cli.main import main
from skm_sim import plugins


def install(source, place):
    """Install a package from its folder into another one; the sources stay as they were."""
    copy = place / "source"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(place / "site")]
    subprocess.run([*pip, *options, str(copy)], check=True, timeout=120)
    return str(place / "site")


def skm_with(place, monkeypatch, capsys):
    """Yield a function that runs `skm` in this process, with what is installed there on the path."""
    monkeypatch.syspath_prepend(place)
    plugins._entries.cache_clear()
    importlib.invalidate_caches()

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # a usage error
            code = error.code
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    yield run
    plugins._entries.cache_clear()
