"""A package with a domain in it that runs as it is, for a newcomer to edit."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from skm_cli.first_predicates import first_predicates
from skm_cli.output import written
from skm_machine.errors import SkmError

OWN = {
    "imported": "$camel",
    "made": "$camel",
    "propositions": "$camel.propositions",
    "constraints": "$camel.constraints",
    "limit": "200",
    "gamma": "0.9",
    "steps": "40",
    "mission": "F(charger & X F shelf) & G !wet",
    "what": "A small room to begin with; make it yours.",
}
WRAPPED = {
    "imported": "CONSTRAINTS, PREDICATES",
    "made": "make",
    "propositions": "tuple(PREDICATES)",
    "constraints": "CONSTRAINTS",
    "limit": "1000",
    "gamma": "0.99",
    "steps": "100",
}


def write_domain(name: str, folder: Path, env_id: str | None) -> list[Path]:
    """Write the package to a folder that does not exist yet; return its files."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise SkmError(f"a domain's name is made of a-z, 0-9 and _, such as kitchen, not '{name}'.")
    if folder.exists():
        raise SkmError(f"{folder} exists; choose another name or another folder with --out.")
    camel = "".join(part.title() for part in name.split("_"))
    values = {"name": name, "camel": camel, "title": name.replace("_", " ").title()}
    more = OWN if env_id is None else {**WRAPPED, **first_predicates(env_id)}
    values |= {key: Template(text).safe_substitute(values) for key, text in more.items()}
    package, world = folder / "src" / name, "own" if env_id is None else "wrapped"
    texts = {
        folder / "pyproject.toml": "pyproject.toml",
        folder / "README.md": "README.md",
        package / "environment.py": f"environment_{world}.py",
        package / "spec.py": "spec.py",
        folder / "test" / f"test_{name}.py": "test.py",
    }
    for path, template in texts.items():
        source = files("skm_cli").joinpath("templates", f"{template}.template")
        text = Template(source.read_text("utf-8")).substitute(values)
        with written(path):
            path.write_text(text, encoding="utf-8")
    with written(package / "__init__.py") as path:
        path.write_text(f'"""{values["title"]}, a domain for skm."""\n', encoding="utf-8")
    return [*texts, package / "__init__.py"]
