"""Skills of a robot that are no ways: actions that others carry out, described in a file.

    actions:
      pick: {action: /arm/pick, type: arm_msgs/action/Pick, goal: {object: cup}, achieves: holding_cup,
             where: kitchen, timeout: 30 s}
      place: {action: /arm/place, type: arm_msgs/action/Place, undoes: holding_cup, where: office}

What they achieve and undo are *facts*: propositions of the domain beside its places. The world of a map
with actions is its cells times the facts, a state is `facts × cells + cell`, and an action is one more
move in it: from where it can be done, to the same cell with other facts. So the planner knows nothing
new, and plans ways and actions together. There is no ROS here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from skm_machine.errors import did_you_mean
from skm_sim.arrays import BoolArray, IntArray
from skm_sim.maps.yaml_file import MapError, check_keys, number, read_yaml
from skm_sim.spec import name_problems

KEYS: Final = (
    "action", "type", "goal", "achieves", "undoes", "where", "needs", "timeout", "retries", "check",
    "result",
)  # fmt: skip
MOST_FACTS: Final = 10
MOST_STATES: Final = 4_000_000
SECONDS: Final = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(s|min)?\s*")


@dataclass(frozen=True)
class ActionSpec:
    """One action, as a file describes it."""

    name: str
    action: str
    """The name of the action server."""
    type: str
    """Such as example_interfaces/action/Fibonacci."""
    goal: dict[str, Any]
    """Fields of the goal."""
    achieves: tuple[str, ...] = ()
    """Facts that hold afterwards."""
    undoes: tuple[str, ...] = ()
    """Facts that do not hold afterwards."""
    where: tuple[str, ...] = ()
    """Places in one of which the robot must be; none: anywhere."""
    needs: tuple[tuple[str, bool], ...] = ()
    """Facts and places that must hold, or must not."""
    timeout: float = 30.0
    """Seconds that it may take, before it is cancelled."""
    retries: int = 2
    """How often it is tried again."""
    check: float = 2.0
    """Seconds after its end in which what it achieves must be seen, where a topic shows it."""
    result: str = ""
    """A condition on its result, without which it has not succeeded."""

    @property
    def facts(self) -> tuple[str, ...]:
        """What it changes."""
        return (*self.achieves, *self.undoes)


def read_actions(path: Path | str) -> tuple[ActionSpec, ...]:
    """Read the actions of a file, which may describe labels, too; none if it has none."""
    path = Path(path)
    given = read_yaml(path)
    check_keys(given, ("labels", "actions"), str(path))
    actions = given.get("actions")
    if actions is None:
        return ()
    if not isinstance(actions, dict) or not actions:
        raise MapError(f"{path}: actions must be such as {{pick: {{action: …, type: …}}}}.")
    if problems := name_problems(tuple(map(str, actions)), ()):
        raise MapError(f"{path}: {' '.join(problems)}")
    found = tuple(_action(str(name), entry, f"{path}: {name}") for name, entry in actions.items())
    facts = facts_of(found)
    if len(facts) > MOST_FACTS:
        raise MapError(f"{path}: actions change {len(facts)} facts, {MOST_FACTS} at most.")
    if problems := name_problems(facts, ()):
        raise MapError(f"{path}: {' '.join(problems)}")
    return found


def _action(name: str, entry: Any, where: str) -> ActionSpec:  # noqa: ANN401 - YAML
    if not isinstance(entry, dict):
        raise MapError(f"{where} must be such as {{action: /arm/pick, type: …, achieves: …}}.")
    check_keys(entry, KEYS, where)
    for key in ("action", "type"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise MapError(f"{where} needs {'an' if key == 'action' else 'a'} {key}, as text.")
    kind = entry["type"].strip()
    if kind.count("/") != 2 or kind.split("/")[1] != "action":
        raise MapError(f"{where}: type must be such as arm_msgs/action/Pick, not {kind!r}.")
    goal = entry.get("goal") or {}
    if not isinstance(goal, dict):
        raise MapError(f"{where}: goal must be fields with values, such as {{object: cup}}.")
    achieves, undoes = (_names(entry.get(key), f"{where}: {key}") for key in ("achieves", "undoes"))
    if not achieves and not undoes:
        raise MapError(f"{where} must achieve or undo something: that is what missions ask for.")
    if both := set(achieves).intersection(undoes):
        raise MapError(f"{where} achieves and undoes {', '.join(sorted(both))}.")
    needs = _names(entry.get("needs"), f"{where}: needs")
    retries = entry.get("retries", ActionSpec.retries)
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= 100:
        raise MapError(f"{where}: retries must be a number from 0 to 100, not {retries!r}.")
    return ActionSpec(
        name,
        entry["action"].strip(),
        kind,
        {str(key): value for key, value in goal.items()},
        achieves,
        undoes,
        _names(entry.get("where"), f"{where}: where"),
        tuple((name.lstrip("! "), not name.startswith("!")) for name in needs),
        _seconds(entry.get("timeout", ActionSpec.timeout), f"{where}: timeout"),
        retries,
        _seconds(entry.get("check", ActionSpec.check), f"{where}: check"),
        str(entry.get("result", "")),
    )


def _names(given: object, where: str) -> tuple[str, ...]:
    """Return one name or a list of them."""
    listed: list[Any] = [] if given is None else given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) and name.strip() for name in listed):
        raise MapError(f"{where} must be a name or a list of names, not {given!r}.")
    return tuple(dict.fromkeys(name.strip() for name in listed))


def _seconds(given: object, where: str) -> float:
    """Return a time such as 30, 30 s or 2 min."""
    if isinstance(given, str) and (found := SECONDS.fullmatch(given)):
        given = float(found[1]) * (60 if found[2] == "min" else 1)
    if isinstance(given, str):
        raise MapError(f"{where} must be such as 30 s, not {given!r}.")
    return number(given, where, positive=True)


def facts_of(actions: Iterable[ActionSpec]) -> tuple[str, ...]:
    """Return the facts that actions change, in the order in which they are named."""
    return tuple(dict.fromkeys(name for spec in actions for name in spec.facts))


def check_actions(actions: Iterable[ActionSpec], places: Collection[str], where: str) -> None:
    """Refuse actions that do not fit the places of a map."""
    actions = tuple(actions)
    facts = facts_of(actions)
    if both := set(facts).intersection(places):
        raise MapError(f"{where}: {', '.join(sorted(both))} is a place: actions cannot change it.")
    for spec in actions:
        for name in spec.where:
            if name not in places:
                hint = did_you_mean(name, places)
                raise MapError(f"{where}: {spec.name}: where: '{name}' is not a place{hint}")
        for name, _ in spec.needs:
            if name not in places and name not in facts:
                hint = did_you_mean(name, (*places, *facts))
                raise MapError(
                    f"{where}: {spec.name}: needs: '{name}' is neither a place nor a fact{hint}"
                )


@dataclass(frozen=True, eq=False)
class ActionWorld:
    """Cells times facts: what moves and actions lead to, and what is shown."""

    moves: IntArray
    """`[state, move or action]`: the state that it leads to."""
    labels: BoolArray
    """`[state, place or fact]`."""


def action_world(
    moves: IntArray, labels: BoolArray, places: tuple[str, ...], actions: tuple[ActionSpec, ...]
) -> ActionWorld:
    """Return the world of a map's cells with actions; the same arrays where there are none."""
    facts = facts_of(actions)
    cells = len(moves)
    worlds = 1 << len(facts)
    if cells * worlds > MOST_STATES:
        raise MapError(
            f"{cells} cells with {len(facts)} facts are {cells * worlds:,} states, more than"
            f" {MOST_STATES:,}: make the cells larger, or the facts fewer."
        )
    bits = np.arange(worlds)
    held = (bits[:, None] >> np.arange(len(facts)) & 1).astype(np.bool_)
    shown = np.hstack([np.tile(labels, (worlds, 1)), np.repeat(held, cells, axis=0)])
    names = (*places, *facts)
    here, world = np.tile(np.arange(cells), worlds), np.repeat(bits, cells)
    columns = [np.tile(moves, (worlds, 1)) + (world * cells)[:, None]]
    for spec in actions:
        able = np.ones(len(here), np.bool_)
        if spec.where:
            able &= shown[:, [names.index(name) for name in spec.where]].any(axis=1)
        for name, wanted in spec.needs:
            able &= shown[:, names.index(name)] == wanted
        then = world | sum(1 << facts.index(name) for name in spec.achieves)
        then &= ~sum(1 << facts.index(name) for name in spec.undoes)
        columns.append((np.where(able, then, world) * cells + here)[:, None])
    return ActionWorld(np.hstack(columns), shown)
