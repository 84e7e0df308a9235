"""What the paper's claims on the office come to, with both sets of settings side by side."""

from __future__ import annotations

from typing import Final

from skm_primitives.baselines import METHODS, Curves
from skm_primitives.reproduction.claims import Claim, settles
from skm_primitives.reproduction.experiments import PANELS, PRETRAINING, PUBLISHED
from skm_primitives.reproduction.learning import (
    Get,
    Learning,
    best_possible,
    fair,
    fair_settings,
    faithful,
)
from skm_primitives.reproduction.report import Section

NEEDS: Final = {"figure-2", "figure-2-best"}
LEARNERS: Final = ("ql", "ql-rs", "crm", "crm-rs", "hrm", "hrm-rs")


def findings_section(learning: Learning, get: Get) -> Section:
    """Return each claim beside what is left of it."""
    faith = faithful(learning, get)
    best = {panel.name: best_possible(panel) for panel in PANELS}
    tuned = {panel.name: fair(learning, panel, get) for panel in PANELS}
    chosen = {panel.name: fair_settings(learning, panel, get) for panel in PANELS}
    ql = chosen["task-3"]["ql"]
    early = _at(tuned["task-3"]["ql"], PRETRAINING)
    hard, hard_tuned = faith["task-4"], tuned["task-4"]
    most = {p: max(LEARNERS, key=lambda m, p=p: _at(tuned[p][m])) for p in tuned}  # type: ignore[misc]
    behind = {p: _at(tuned[p]["ql-sm-paper"]) - _at(tuned[p][most[p]]) for p in tuned}
    crm, few = PUBLISHED["crm"], PUBLISHED["ql-sm-paper"]
    theirs = ", ".join(f"{p} {crm[p][1]:.2f} and {few[p][1]:.2f}" for p in ("task-1", "task-3"))
    fast = {p: settles(tuned[p]["ql-sm-paper"]) for p in ("task-1", "task-3", "all")}
    first = {p: min((settles(tuned[p][m]), m) for m in LEARNERS) for p in fast}
    shares = {
        m: [_at(faith[p][m]) / best[p] for p in best] for m in ("sm-paper", "sm-values", "sm")
    }
    spans = {m: f"{min(found):.0%} to {max(found):.0%}" for m, found in shares.items()}
    claims = [
        Claim(
            "QL cannot learn task 3",
            early < 0.5 * best["task-3"],
            f"{_at(faith['task-3']['ql']):.2f} after all steps with the paper's settings; {early:.2f}"
            f" after 1e5 with α {ql.alpha}, Q from {ql.initial}, ε {ql.epsilon}; best possible"
            f" {best['task-3']:.2f}",
            "it is a matter of settings",
        ),
        Claim(
            "QL cannot learn task 4",
            _at(hard_tuned["ql"]) < 0.05,
            f"{_at(hard['ql']):.3f}, and {_at(hard_tuned['ql']):.3f} with the best settings",
            "with other settings it can",
        ),
        Claim(
            "HRM stays below the optimum of task 4",
            _at(hard_tuned["hrm"]) < 0.95 * best["task-4"],
            f"{_at(hard['hrm']):.2f}, with the best settings {_at(hard_tuned['hrm']):.2f};"
            f" best possible {best['task-4']:.3f}",
            "with the best settings it gets there",
        ),
        Claim(
            "(ours) options for edges that the office never takes cost HRM much of task 3",
            _at(faith["task-3"]["hrm"]) > _at(faith["task-3"]["hrm-all-edges"]) + 0.1,
            f"{_at(faith['task-3']['hrm']):.2f} without `coffee & mail`, which is nowhere, and"
            f" {_at(faith['task-3']['hrm-all-edges']):.2f} with it",
            "chance decides with few runs",
        ),
        Claim(
            "SM is near-optimal from the start",
            min(shares["sm-paper"]) >= 0.85,
            f"planner paper {spans['sm-paper']} of the best possible success, values"
            f" {spans['sm-values']}, product {spans['sm']}",
            "with the paper's planner not on task 4; product plans on a model that was learned (What"
            " plans)",
        ),
        Claim(
            "QL-SM begins highest and converges first, against the best settings of every method, too",
            all(fast[p] <= first[p][0] for p in fast),
            "; ".join(
                f"{p}: {fast[p] // 1000} k steps, {METHODS[first[p][1]].label} {first[p][0] // 1000} k"
                for p in fast
            ),
            "a learner with settings of its own is as quick",
        ),
        Claim(
            "QL-SM ends above all learners",
            min(behind.values()) >= 0,
            "; ".join(f"{p}: {behind[p]:+.3f} beside {METHODS[most[p]].label}" for p in behind),
            f"nor does it in the authors' own curves (CRM and QL-SM: {theirs})",
        ),
    ]
    about = (
        "The office, both sets of settings side by side. Success at ε = 0.1; with 60 runs, figures less"
        " than 0.02 apart are level."
    )
    return Section("findings", "What the claims come to", about, claims)


def _at(curves: Curves, steps: int | None = None) -> float:
    return curves.at(steps or curves.settings.steps)[0]
