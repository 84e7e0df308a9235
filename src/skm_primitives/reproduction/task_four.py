"""Why QL-SM (planner paper) hardly leaves SM on task 4: too few steps, the rule, or the planner?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skm_primitives.baselines import METHODS, Curves, LearningSettings
from skm_primitives.reproduction.claims import Claim
from skm_primitives.reproduction.experiments import PANELS
from skm_primitives.reproduction.learning import Get, Learning, best_possible
from skm_primitives.reproduction.report import Section, Table
from skm_primitives.workers import Job

PANEL: Final = next(panel for panel in PANELS if panel.name == "task-4")
STEPS: Final = 4_000_000
PRINTED, COUNTERS = "ql-sm-paper", "ql-sm-paper-counters"


@dataclass(frozen=True)
class Variant:
    """One way to learn it."""

    epsilon: float
    gamma: float
    initial: float
    method: str

    @property
    def settings(self) -> LearningSettings:
        """Ten times the steps of the figure, evaluated less often but longer."""
        learning = {"epsilon": self.epsilon, "gamma": self.gamma, "initial": self.initial}
        counts = {"steps": STEPS, "every": STEPS // 100, "evaluations": 20}
        return METHODS[self.method].settings(**learning, **counts)


VARIANTS: Final = (
    Variant(0.5, 0.9, 0.001, PRINTED),
    Variant(0.5, 0.99, 0.0, PRINTED),
    Variant(0.5, 0.99, 0.0, COUNTERS),
    Variant(0.1, 0.9, 0.001, PRINTED),
    Variant(0.1, 0.9, 0.001, COUNTERS),
    Variant(0.1, 0.99, 0.0, PRINTED),
    Variant(0.1, 0.99, 0.0, COUNTERS),
)


def task_four_jobs(runs: int) -> list[Job]:
    """Return the runs of all variants, and the zero-shot policy with and without many slips."""
    learning = Learning(runs, STEPS)
    jobs = [
        job
        for variant in VARIANTS
        for job in learning.jobs(PANEL, variant.method, variant.settings, _kind(variant))
    ]
    for slips in (0.1, 0.5):
        jobs += learning.jobs(PANEL, "sm-paper", _zero_shot(slips), f"slips {slips}")
    return jobs


def _kind(variant: Variant) -> str:
    return f"ways {variant.epsilon} {variant.gamma}"


def _zero_shot(slips: float) -> LearningSettings:
    return METHODS["sm-paper"].settings(test_epsilon=slips, evaluations=20)


def task_four_section(runs: int, get: Get) -> Section:
    """Return what the variants come to, and which of the three is at fault."""
    learning, best = Learning(runs, STEPS), best_possible(PANEL)
    rows = [
        ("ε while learning", "γ (Q begins at)", "Q sees", "success", "zero-shot", "best possible")
    ]
    zero = _mean(learning, "sm-paper", _zero_shot(0.1), "slips 0.1", get)
    lost = _mean(learning, "sm-paper", _zero_shot(0.5), "slips 0.5", get)
    ends = []
    for variant in VARIANTS:
        found = learning.curves(PANEL, get, {variant.method: variant.settings}, _kind(variant))
        ends.append(_end(found[variant.method]))
        sees = "⟨cell, u⟩" if variant.method == PRINTED else "hidden counters, too"
        setting = f"{variant.gamma:g} ({variant.initial:g})"
        numbers = f"{ends[-1]:.3f}", f"{zero:.3f}", f"{best:.3f}"
        rows.append((f"{variant.epsilon:g}", setting, sees, *numbers))
    leaves = ends[0] > zero + 0.5 * (best - zero)
    claims = [
        Claim(
            "with ten times the steps, QL-SM leaves SM",
            leaves,
            f"{ends[0]:.3f} after {STEPS // 10**6} million steps, zero-shot {zero:.3f}, best"
            f" possible {best:.3f}",
            f"with ε = 0.5 the zero-shot policy succeeds in {10_000 * lost:.0f} of 10,000 episodes: next"
            " to no reward to learn from; the printed rule max{γQ, (1−γ)δ_Q} leaves to the zero-shot"
            " skill all that is over 21 steps from success, of about 120; and ⟨cell, u⟩ does not show"
            " how often the mail was fetched",
        ),
        Claim(
            "(ours) with those three out of the way, and the same planner, it reaches the best possible",
            ends[-1] > 0.95 * best,
            f"{ends[-1]:.3f} of {best:.3f}",
        ),
    ]
    about = (
        f"Success at ε = 0.1 after {STEPS // 10**6} million steps, {runs} runs each. Neither the number"
        " of steps nor the planner is at fault, but the printed rule, exploration and what Q sees."
    )
    title = "Why QL-SM stays where SM is on task 4"
    return Section("task-4", title, about, claims, tables=[Table("task-4", rows)])


def _mean(
    learning: Learning, method: str, settings: LearningSettings, kind: str, get: Get
) -> float:
    return float(learning.curves(PANEL, get, {method: settings}, kind)[method].scores.mean())


def _end(curves: Curves) -> float:
    """Return the mean of the last ten evaluations."""
    return float(curves.scores[:, -10:].mean())
