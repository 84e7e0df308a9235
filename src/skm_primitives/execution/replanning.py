"""A mission under way in a world that is not as it was planned for: other ways, and the way ahead.

Cells of a known world can be closed, by people or by what stands there. Then the mission is planned
again without them, from the machine's state on: what was done stays done.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from skm_machine.errors import SkmError, UnachievableMissionError
from skm_machine.mission import Mission
from skm_machine.monitor import is_fatal
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.policies import ProductPolicy
from skm_primitives.planning.policy import Policy
from skm_primitives.planning.shield import AnyShield, make_shield
from skm_primitives.skills.values import RemoteSkills, Skills
from skm_sim.arrays import IntArray
from skm_sim.finite_world import FiniteWorld

MOST_CELLS: Final = 100_000
"""Cells of a way after which it is not followed further."""


def known_cells(skills: Skills) -> FiniteWorld | None:
    """Return the world of skills that observe the cell, as on a map; None for others."""
    world = skills.world_model
    if not isinstance(world, FiniteWorld) or world.state_of is not None:
        return None
    return None if world.chances is not None or world.visits else world


def cells_of_places(world: FiniteWorld, places: Collection[str]) -> IntArray:
    """Return the cells in which any of some places is shown."""
    shown = np.array([not labels.isdisjoint(places) for labels in world.label_sets], np.bool_)
    cells: IntArray = np.flatnonzero(shown[world.label_ids])
    return cells


def without_cells(skills: RemoteSkills, cells: Collection[int]) -> RemoteSkills:
    """Return skills of a world in which no move leads into some cells; a robot that is in can leave."""
    world = known_cells(skills)
    if world is None or not len(cells):
        return skills
    closed = np.zeros(len(world.successors), np.bool_)
    closed[np.fromiter(cells, np.int64)] = True
    stay = np.arange(len(world.successors))[:, None]
    entering = closed[world.successors] & ~closed[:, None]
    return replace(
        skills, world_model=replace(world, successors=np.where(entering, stay, world.successors))
    )


def without_actions(skills: RemoteSkills, actions: Collection[int]) -> RemoteSkills:
    """Return skills of a world in which some actions change nothing: they were tried without success."""
    world = known_cells(skills)
    if world is None or not len(actions):
        return skills
    successors = world.successors.copy()
    successors[:, sorted(actions)] = np.arange(len(successors))[:, None]
    return replace(skills, world_model=replace(world, successors=successors))


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy of a mission, and its shield."""

    policy: Policy
    shield: AnyShield | None


def plan_from(
    mission: Mission,
    skills: RemoteSkills,
    planner: str,
    state: int,
    observation: Any,  # noqa: ANN401
    *,
    shield: bool,
) -> Plan:
    """Plan the rest of a mission, from a state of its machine.

    Refuses what cannot be achieved from here.
    """
    rest = replace(mission, machine=mission.machine.begun_in(state))
    policy = make_policy(rest, skills, planner)
    policy.start(observation)
    return Plan(policy, make_shield(mission, skills) if shield else None)


@dataclass(frozen=True)
class WayAhead:
    """The way until the machine moves next."""

    cells: tuple[int, ...]
    """The present one first; in the last one the machine moves."""
    avoid: tuple[frozenset[str], ...]
    """Label sets of the world that would fail the mission on the way."""


def way_ahead(run: MissionRun, cell: int) -> WayAhead | None:
    """Return the way that a policy goes from a cell in the machine's present state; None if it stays.

    By what the product planner does everywhere: for worlds whose actions lead where they are known to
    lead, and as long as no event happens. Cells are numbered as they are observed.
    """
    world, policy = run.skills.world_model, run.policy
    if not isinstance(world, FiniteWorld) or not isinstance(policy, ProductPolicy):
        return None
    if world.chances is not None:
        return None
    places = policy.way_ahead(run.tracker.state, policy.place_of(cell), MOST_CELLS)
    if places is None:
        return None  # It stays, or waits: there is nowhere to go.
    if world.state_of is not None:
        observed = {place: number for number, place in world.state_of.items()}
        places = [observed[place] for place in places if place in observed]
    return WayAhead(tuple(places), avoided_labels(run, world))


def avoided_labels(run: MissionRun, world: FiniteWorld) -> tuple[frozenset[str], ...]:
    """Return the label sets of the world that would fail the mission in the machine's present state."""
    state, machine = run.tracker.state, run.policy.mission.planned.machine
    return tuple(
        labels for labels in world.label_sets if is_fatal(run.machine, machine.step(state, labels))
    )


def closed_reason(error: SkmError, closed: Collection[str]) -> str:
    """Return why a mission cannot be done, with the places that are out of service if there are any."""
    if not closed or not isinstance(error, UnachievableMissionError):
        return str(error)
    names = ", ".join(sorted(closed))
    return f"{error} ({names}: out of service; `skm place` puts places back)"
