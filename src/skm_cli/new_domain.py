"""A package with a domain in it that runs as it is, for a newcomer to edit."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space

from skm_cli.output import written
from skm_machine.errors import SkmError
from skm_sim.actions import FlatActions
from skm_sim.faults import made
from skm_sim.observations import Parts, is_image, is_vector, space_problems

# Two predicates to begin with, for an environment that nobody has labelled: found by looking at
# it.


LOOKS = 2000
"""Steps with random actions that are looked at."""


def first_predicates(env_id: str) -> dict[str, str]:
    """Return what the template of a wrapped environment wants: names, code, texts, the key.

    Of a vector or an image, the number that varies most is low or high; of cells, two that are entered
    often.
    """
    env = made(env_id)
    key, seen = _part(env.observation_space)
    acted = FlatActions(env.action_space).space
    seen = Parts(seen, None, one_hot=isinstance(acted, Box)).space
    probe: Any = type("Probe", (), {"observation_space": seen, "action_space": acted})()
    problems = space_problems(probe)
    if problems:
        raise SkmError(f"{env_id}: " + " ".join(problems))
    observed = np.array([o if key is None else o[key] for o in _look(env)])
    env.close()
    source = "observation" if key is None else f'observation["{key}"]'
    if isinstance(seen, Discrete):
        names, codes = _cells(observed, source)
    else:
        names, codes = _ends(observed, source)
    return {
        "env_id": env_id,
        "key": "None" if key is None else f'"{key}"',
        "first": names[0],
        "second": names[1],
        "first_code": codes[0],
        "second_code": codes[1],
        "first_text": f"Tell whether `{codes[0]}`.",
        "second_text": f"Tell whether `{codes[1]}`.",
        "mission": f"F({names[0]} & X F {names[1]})",
        "what": f"It wraps {env_id}; two predicates are there to begin with.",
    }


def _part(space: Space[Any]) -> tuple[str | None, Space[Any]]:
    """Return the part of the observations to begin with, and its space."""
    if not isinstance(space, Dict):
        return None, space
    parts = space.spaces
    known = [name for name in parts if is_vector(parts[name])] or [
        name for name in parts if is_image(parts[name])
    ]
    if not known:
        raise SkmError(f"no part of the observations {space} is a vector of numbers or an image.")
    key = "observation" if "observation" in known else known[0]
    return key, space.spaces[key]


def _look(env: gymnasium.Env[Any, Any]) -> list[Any]:
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    seen = [observation]
    for _ in range(LOOKS):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(observation)
        if terminated or truncated:
            observation, _ = env.reset()
    return seen


def _cells(observed: Any, source: str) -> tuple[list[str], list[str]]:  # noqa: ANN401 - an array
    cells, counts = np.unique(observed, return_counts=True)
    if len(cells) < 2:
        raise SkmError(
            "random actions see only one observation, so there is nothing to tell apart."
        )
    chosen = cells[np.argsort(-counts, kind="stable")[:2]].tolist()
    return [f"cell_{cell}" for cell in chosen], [f"{source} == {cell}" for cell in chosen]


def _ends(observed: Any, source: str) -> tuple[list[str], list[str]]:  # noqa: ANN401
    numbers = observed.astype(np.float64)
    spread = np.ptp(numbers, axis=0)
    number = np.unravel_index(int(spread.argmax()), spread.shape)
    low, high = np.percentile(numbers[:, *number], [10, 90])
    if not high > low:
        raise SkmError("random actions change nothing that is observed: there is nothing to label.")
    at = f"{source}[..., {', '.join(map(str, number))}]"
    return ["low", "high"], [f"{at} <= {low:.4g}", f"{at} >= {high:.4g}"]


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
