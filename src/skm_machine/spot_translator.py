"""Translation by Spot, where its Python package is installed; its automata come back as HOA text."""

from __future__ import annotations

import importlib
from types import ModuleType

from skm_machine.automata.automaton import Automaton
from skm_machine.errors import SkmError
from skm_machine.formats.hoa import read_hoa, read_hoa_automaton
from skm_machine.logic.syntax import Formula
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
            "complete for finite traces."
        ) from error
    if not hasattr(spot, "from_ltlf"):
        raise SpotMissingError(
            f"translator 'spot' needs Spot's Python package, but 'import spot' gives another "
            f"package of that name ({getattr(spot, '__file__', 'built in')})."
        )
    return spot


def translate_with_spot(formula: Formula) -> Automaton:
    """Return Spot's automaton of the non-empty finite traces that satisfy `formula`, minimised."""
    spot = load_spot()
    alive = spot.from_ltlf(spot.formula(str(formula)))
    automaton = spot.to_finite(spot.translate(alive, "buchi", "deterministic", "state-based"))
    return read_hoa_automaton(automaton.to_str("hoa"))


def endless_machine_with_spot(formula: Formula) -> RewardMachine:
    """Return the machine of Spot's deterministic Büchi automaton of `formula` over infinite traces."""
    spot = load_spot()
    automaton = spot.translate(spot.formula(str(formula)), "buchi", "deterministic", "complete")
    return read_hoa(automaton.to_str("hoa"))
