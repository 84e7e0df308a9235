"""Hypothesis strategies for formulas, Boolean formulas and traces."""

from __future__ import annotations

from hypothesis import strategies as st

from skm_machine.logic.formula import FALSE, TRUE, Formula, proposition

NAMES = ("a", "b", "c")
BOOLEAN_OPERATORS = ("&", "|", "->", "<->", "xor")
BINARY_OPERATORS = (*BOOLEAN_OPERATORS, "U", "R", "W", "M")


def formulas(names=NAMES, unary=("!", "X", "F", "G"), binary=BINARY_OPERATORS, max_leaves=8):
    """Return formulas over `names` with these operators."""
    atoms = st.one_of(st.sampled_from(names).map(proposition), st.sampled_from([TRUE, FALSE]))
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(lambda op, f: Formula(op, (f,)), st.sampled_from(unary), inner),
            st.builds(lambda op, f, g: Formula(op, (f, g)), st.sampled_from(binary), inner, inner),
        ),
        max_leaves=max_leaves,
    )


def boolean_formulas(names=NAMES):
    """Return formulas without temporal operators."""
    return formulas(names, unary=("!",), binary=BOOLEAN_OPERATORS)


def traces(names=NAMES, max_size=6):
    """Return non-empty traces over `names`."""
    labels = st.frozensets(st.sampled_from(names))
    return st.lists(labels, min_size=1, max_size=max_size)
