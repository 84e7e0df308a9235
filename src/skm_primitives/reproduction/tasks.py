"""The paper's tables: the tasks of its three domains, and the settings of the learners."""

from __future__ import annotations

from typing import Final

from skm_machine import compile_mission
from skm_primitives.baselines import METHODS
from skm_primitives.reproduction.experiments import METHODS_SHOWN
from skm_primitives.reproduction.learning import Get
from skm_primitives.reproduction.report import Row, Section, Table
from skm_sim import get_domain

DOMAINS: Final = ("office", "moving_targets", "safety")


def tasks_section(_: Get) -> Section:
    """Return the tasks as formulas with the size of their machines, and the settings by method."""
    tables = []
    for domain in DOMAINS:
        spec = get_domain(domain)
        rows = [("task", "formula", "machine states")]
        for task in spec.tasks.values():
            mission = compile_mission(
                task.formula, propositions=spec.propositions, repeat=task.repeat
            )
            again = ", again and again" if task.repeat else ""
            rows.append((task.name, f"`{task.formula}`{again}", str(mission.machine.num_states)))
        tables.append(Table(f"tasks-{domain}", rows))
    settings: list[Row] = [
        ("method", "α", "γ", "ε while learning", "ε in evaluations", "Q begins at")
    ]
    for name in METHODS_SHOWN:
        used = METHODS[name].settings()
        numbers = used.alpha, used.gamma, used.epsilon, used.test_epsilon, used.initial
        settings.append((METHODS[name].label, *map(str, numbers)))
    tables.append(Table("settings", settings))
    about = (
        "The tasks of the three domains, translated by skm, and the settings that were in effect in the"
        " paper's comparison. How the networks were learned: docs/results/moving_targets.md,"
        " docs/results/safety.md."
    )
    return Section("tasks", "Tasks and settings", about, tables=tables)
