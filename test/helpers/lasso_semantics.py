"""LTL on ultimately periodic traces by definition, and random formulas and traces to judge."""

from skm_machine.logic.formula import FALSE, TRUE, Formula, proposition
from skm_machine.logic.semantics import holds_forever

__all__ = ["holds_forever", "random_formula", "random_lasso"]

UNARY = ("!", "X", "F", "G")
BINARY = ("&", "|", "->", "<->", "xor", "U", "R", "W", "M")


def random_formula(rng, size, names):
    """Return a formula of about `size` operators and propositions."""
    if size <= 1:
        return proposition(rng.choice(names)) if rng.random() < 0.95 else rng.choice([TRUE, FALSE])
    if size == 2 or rng.random() < 0.4:
        return Formula(rng.choice(UNARY), (random_formula(rng, size - 1, names),))
    left = rng.randint(1, size - 2)
    operands = (random_formula(rng, left, names), random_formula(rng, size - 1 - left, names))
    return Formula(rng.choice(BINARY), operands)


def random_lasso(rng, names):
    """Return a prefix of up to four label sets and a loop of one to four."""
    prefix, loop = rng.randint(0, 4), rng.randint(1, 4)
    word = [frozenset(n for n in names if rng.random() < 0.5) for _ in range(prefix + loop)]
    return word[:prefix], word[prefix:]
