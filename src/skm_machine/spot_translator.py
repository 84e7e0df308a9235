"""Translation by Spot, where its Python package is installed; its automata come back as HOA text."""

from __future__ import annotations

import importlib
from types import ModuleType

from skm_machine.automata.dfa import Automaton
from skm_machine.automata.hoa_text import hoa_string
from skm_machine.automata.omega import BUCHI, Condition, OmegaAutomaton
from skm_machine.errors import SkmError, UnsupportedMissionError
from skm_machine.formats.hoa import read_hoa, read_hoa_automaton, read_hoa_omega
from skm_machine.logic.formula import Formula
from skm_machine.reward_machine import RewardMachine


class SpotMissingError(SkmError):
    """Spot was asked for and is not installed."""


def load_spot() -> ModuleType:
    """Return Spot's Python package, or say how to do without it."""
    try:
        spot = importlib.import_module("spot")
    except ImportError as error:
        raise SpotMissingError(
            "translator 'spot' needs Spot's Python package, and 'import spot' fails here. Install "
            "Spot with its Python bindings, or use the default translator 'builtin', which is "
            "complete."
        ) from error
    if not hasattr(spot, "from_ltlf"):
        raise SpotMissingError(
            f"translator 'spot' needs Spot's Python package, but 'import spot' gives another "
            f"package of that name ({getattr(spot, '__file__', 'built in')})."
        )
    return spot


def translate_with_spot(formula: Formula) -> Automaton:
    """Return Spot's automaton of the non-empty finite traces that satisfy `formula`, minimised.

    On finite traces, Spot's `X` is the weak next: ours is its `X[!]`.
    """
    spot = load_spot()
    alive = spot.from_ltlf(spot.formula(spot_text(formula, strong_next="X[!]")))
    automaton = spot.to_finite(spot.translate(alive, "buchi", "deterministic", "state-based"))
    return read_hoa_automaton(automaton.to_str("hoa"))


def omega_automaton_with_spot(formula: Formula) -> OmegaAutomaton:
    """Return Spot's Büchi automaton of `formula` over infinite traces, deterministic if it finds one."""
    spot = load_spot()
    automaton = spot.translate(spot.formula(spot_text(formula)), "buchi", "deterministic")
    return read_hoa_omega(automaton.to_str("hoa"))


def endless_machine_with_spot(formula: Formula) -> RewardMachine:
    """Return the machine of a deterministic Büchi automaton of Spot's, over infinite traces.

    Spot gives a nondeterministic one where it finds no other; its deterministic parity automaton
    then often has Büchi acceptance.
    """
    spot = load_spot()
    for kind in ("buchi", "parity"):
        asked = spot.translate(spot.formula(spot_text(formula)), kind, "deterministic", "complete")
        text = asked.to_str("hoa")
        automaton = read_hoa_omega(text)
        if automaton.deterministic and has_buchi_acceptance(automaton):
            return read_hoa(text)
    raise UnsupportedMissionError(
        f"Spot finds no deterministic Büchi automaton of '{formula}', which a machine needs"
    )


def has_buchi_acceptance(automaton: OmegaAutomaton) -> bool:
    """Tell whether the acceptance is Büchi's, or always or never satisfied."""
    return automaton.acceptance in (BUCHI, (), (Condition(frozenset(), frozenset()),))


def spot_text(formula: Formula, strong_next: str = "X") -> str:
    """Return a formula as Spot reads it: in parentheses, as `xor` binds less tightly there than `|`."""
    texts: dict[Formula, str] = {}
    for sub in formula.subformulas():
        operands = [texts[operand] for operand in sub.operands]
        operator = strong_next if sub.operator == "X" else sub.operator
        if sub.operator == "prop":
            texts[sub] = hoa_string(sub.name)
        elif not operands:
            texts[sub] = operator
        elif len(operands) == 1:
            texts[sub] = f"{operator}({operands[0]})"
        else:
            texts[sub] = f" {operator} ".join(f"({operand})" for operand in operands)
    return texts[formula]
