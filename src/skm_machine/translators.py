"""Who translates formulas: the built-in translator, or Spot where it is installed."""

from __future__ import annotations

from typing import Final

from skm_machine.automata import ldba as infinite
from skm_machine.automata.dfa import Automaton
from skm_machine.automata.ltlf import MAX_SECONDS, MAX_STATES, minimal_automaton
from skm_machine.automata.omega import OmegaAutomaton, Trace
from skm_machine.errors import MissionError, did_you_mean
from skm_machine.logic.formula import Formula
from skm_machine.logic.normal_forms import seen_through
from skm_machine.logic.parser import parse
from skm_machine.recurrence import recurring_machine
from skm_machine.reward_machine import RewardMachine
from skm_machine.spot_translator import (
    endless_machine_with_spot,
    omega_automaton_with_spot,
    translate_with_spot,
)

TRANSLATORS: Final = ("builtin", "spot")


def translate(
    formula: Formula,
    translator: str = "builtin",
    *,
    through: bool = False,
    max_states: int = MAX_STATES,
    max_seconds: float = MAX_SECONDS,
) -> Automaton:
    """Return the minimal deterministic automaton of the non-empty finite traces that satisfy `formula`.

    With `through`, bounds are seen through: `G[0,9] a` takes ten steps (`seen_through`).
    The built-in translator refuses what takes more states on its way, or more seconds of computing.
    `translator="spot"` asks Spot's Python package instead, where it is installed.
    """
    if check_choice("translator", translator, TRANSLATORS) == "spot":
        return translate_with_spot(seen_through(formula) if through else formula)
    return minimal_automaton(
        formula, through=through, max_states=max_states, max_seconds=max_seconds
    )


def translate_omega(
    formula: Formula | str,
    translator: str = "builtin",
    *,
    max_states: int = infinite.MAX_STATES,
    max_seconds: float = infinite.MAX_SECONDS,
) -> OmegaAutomaton:
    """Return a Büchi automaton of the infinite traces that satisfy `formula`: all of LTL.

    It is deterministic for all safe, co-safe, obligation and recurrence formulas, and for others where
    one is found; else it is limit-deterministic: its only choices are its ε-transitions. A translation
    that would take more states on its way, or more seconds of computing, is refused with the clause to
    blame; with little time left, one that is not as small, or not deterministic, may be given.
    `translator="spot"` asks Spot instead, whose automata may be nondeterministic.
    """
    formula = parse(formula) if isinstance(formula, str) else formula
    if check_choice("translator", translator, TRANSLATORS) == "spot":
        return omega_automaton_with_spot(formula)
    return infinite.omega_automaton(formula, max_states=max_states, max_seconds=max_seconds)


def accepts_lasso(formula: Formula | str, prefix: Trace, loop: Trace) -> bool:
    """Tell whether prefix·loop^ω satisfies `formula`, by its automaton; `loop` must not be empty."""
    return translate_omega(formula).accepts(prefix, loop)


def endless_machine(
    formula: Formula,
    translator: str = "builtin",
    *,
    max_states: int = MAX_STATES,
    max_seconds: float = MAX_SECONDS,
) -> RewardMachine:
    """Return the machine of a mission without end, rewarded for every round."""
    if check_choice("translator", translator, TRANSLATORS) == "spot":
        return endless_machine_with_spot(formula)
    return recurring_machine(formula, max_states=max_states, max_seconds=max_seconds)


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the value, or raise an error that names the nearest choice."""
    if value not in choices:
        raise MissionError(f"unknown {what} '{value}'{did_you_mean(value, choices)}")
    return value
