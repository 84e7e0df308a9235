"""What the paper claims of its learning curves, and whether ours show it: worked out from the curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skm_primitives.baselines import Curves
from skm_primitives.reproduction.experiments import METHODS_SHOWN

Outcome = Mapping[str, Mapping[str, Curves]]
"""Curves by panel and method."""


@dataclass(frozen=True)
class Claim:
    """A claim in words, whether it is shown, and the figures that say so."""

    text: str
    shown: bool
    found: str
    why: str = ""


def _final(outcome: Outcome, panel: str, method: str) -> float:
    curves = outcome[panel][method]
    return curves.at(curves.settings.steps)[0]


def settles(curves: Curves, share: float = 0.95) -> int:
    """Return after how many steps the smoothed mean first is that share of where it ends."""
    mean = curves.smoothed().mean(axis=0)
    return int(curves.steps[np.argmax(mean >= share * mean[-1])])


def curve_claims(outcome: Outcome, best: Mapping[str, float]) -> list[Claim]:
    """Return the claims on the figure of the Office Gridworld."""
    last = {
        panel: {m: _final(outcome, panel, m) for m in found} for panel, found in outcome.items()
    }
    hard, third = last["task-4"], last["task-3"]
    learners = [m for m in METHODS_SHOWN if not m.startswith(("sm", "ql-sm"))]
    shares = [last[panel]["sm-paper"] / best[panel] for panel in last]
    firsts = {panel: outcome[panel]["sm-paper"].smoothed().mean(axis=0)[:41] for panel in outcome}
    drift = max(abs(firsts[p][-1] - last[p]["sm-paper"]) for p in firsts)
    gain = {p: last[p]["ql-sm-paper"] - max(last[p][m] for m in learners) for p in last}
    ahead = ", ".join(f"{p} {value:+.3f}" for p, value in gain.items())
    begins = {
        p: (
            outcome[p]["ql-sm-paper"].smoothed().mean(axis=0)[5],
            max(outcome[p][m].smoothed().mean(axis=0)[5] for m in learners),
        )
        for p in outcome
    }
    speeds = {
        p: (settles(outcome[p]["ql-sm-paper"]), min(settles(outcome[p][m]) for m in learners))
        for p in ("task-1", "task-3", "all")
    }
    over = _highest_excess(outcome, best)
    only_hrm = hard["hrm"] > 0.1 and max(hard[m] for m in ("ql-rs", "crm", "crm-rs")) < 0.05
    return [
        Claim(
            "QL struggles to learn task 3",
            third["ql"] < 0.5 * best["task-3"],
            f"QL ends at {third['ql']:.2f} of {best['task-3']:.2f}",
            "a matter of settings, not of QL: see the curves with the best settings of each method",
        ),
        Claim(
            "QL fails completely on task 4",
            hard["ql"] < 0.02,
            f"QL ends at {hard['ql']:.3f} of {best['task-4']:.2f}",
        ),
        Claim(
            "of the learners only HRM gets task 4 in 4e5 steps, and CRM does not",
            only_hrm,
            f"HRM {hard['hrm']:.2f}, CRM {hard['crm']:.3f}, best possible {best['task-4']:.2f}",
            "" if only_hrm else "with other settings than the paper's, CRM begins to get it, too",
        ),
        Claim(
            "SM performs near-optimally without learning the task",
            min(shares) >= 0.85,
            f"{min(shares):.0%} to {max(shares):.0%} of the best possible with the paper's planner",
            "its ways are longer than need be (return over the optimum: see What plans), and a random"
            " action beside a decoration can end a run",
        ),
        Claim(
            "SM has its final value from the first evaluation on",
            drift < 0.05,
            f"the first forty evaluations differ from the last by at most {drift:.3f}",
        ),
        Claim(
            "QL-SM ends best where zero-shot is not optimal",
            min(gain.values()) > 0,
            f"QL-SM (paper) less the best learner: {ahead}",
            "others end level with it, within chance (0.01), as they do in the authors' own curves; on"
            " task 4 QL-SM hardly leaves SM: the part on that says why",
        ),
        Claim(
            "QL-SM begins higher than all baselines",
            all(mine > theirs for mine, theirs in begins.values()),
            "; ".join(f"{p}: {mine:.2f} and {theirs:.2f}" for p, (mine, theirs) in begins.items()),
        ),
        Claim(
            "QL-SM converges faster than all baselines",
            all(mine <= theirs for mine, theirs in speeds.values()),
            "; ".join(
                f"{p}: {mine // 1000} k and {theirs // 1000} k steps"
                for p, (mine, theirs) in speeds.items()
            ),
        ),
        Claim(
            "(ours) every curve stays below the best that any policy can do",
            over < 4,
            f"the mean of the latest evaluations is at most {over:.1f} standard errors above it",
        ),
    ]


def _highest_excess(outcome: Outcome, best: Mapping[str, float]) -> float:
    """Return by how many standard errors the end of any curve is above the best possible."""
    most = -np.inf
    for panel, found in outcome.items():
        for curves in found.values():
            latest = curves.scores[:, -40:]
            episodes = latest.size * curves.settings.evaluations
            error = np.sqrt(best[panel] * (1 - best[panel]) / episodes)
            most = max(most, float((latest.mean() - best[panel]) / error))
    return most
