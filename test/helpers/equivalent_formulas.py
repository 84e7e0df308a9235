"""Pairs of formulas that are satisfied by the same infinite traces, made by laws of LTL."""

from lasso_semantics import holds_forever, random_formula, random_lasso
from skm_machine.logic.formula import FALSE, TRUE, Formula, conjunction, disjunction, negation

NAMES = ("a", "b", "c")


def _next(x):
    return Formula("X", (x,))


def _is(operator, *operands):
    return Formula(operator, operands)


def laws(formula, other):
    """Return formulas that are equal to `formula` on infinite traces; `other` is any formula."""
    operator, operands = formula.operator, formula.operands
    found = [
        conjunction(formula, disjunction(_is("F", other), _is("G", negation(other)))),
        disjunction(formula, conjunction(_is("G", other), _is("F", negation(other)))),
        disjunction(conjunction(formula, other), conjunction(formula, negation(other))),
        _is("!", _is("!", formula)),
    ]
    if operator == "F":
        (x,) = operands
        found += [
            _is("U", TRUE, x),
            disjunction(x, _next(formula)),
            negation(_is("G", negation(x))),
        ]
        found += [_is("F", formula)]
        if x.operator == "G":
            (y,) = x.operands
            found += [
                _is("F", conjunction(y, x)),
                _is("F", _next(x)),
                _is("F", conjunction(y, _next(x))),
            ]
            found += [_is("G", formula)]
    elif operator == "G":
        (x,) = operands
        found += [
            _is("R", FALSE, x),
            conjunction(x, _next(formula)),
            negation(_is("F", negation(x))),
        ]
        found += [_is("W", x, FALSE), _is("G", formula)]
        if x.operator == "F":
            found += [_is("G", disjunction(x.operands[0], _next(x))), _is("F", formula)]
    elif operator == "U":
        x, y = operands
        found += [disjunction(y, conjunction(x, _next(formula)))]
        found += [
            conjunction(_is("W", x, y), _is("F", y)),
            negation(_is("R", negation(x), negation(y))),
        ]
    elif operator == "W":
        x, y = operands
        found += [disjunction(_is("U", x, y), _is("G", x)), _is("R", y, disjunction(x, y))]
    elif operator == "R":
        x, y = operands
        found += [conjunction(y, disjunction(x, _next(formula)))]
        found += [_is("W", y, conjunction(x, y)), negation(_is("U", negation(x), negation(y)))]
    elif operator == "M":
        x, y = operands
        found += [_is("U", y, conjunction(x, y)), conjunction(_is("R", x, y), _is("F", x))]
    elif operator == "X":
        found += [negation(_next(negation(operands[0])))]
    elif operator in ("&", "|"):
        found += [Formula(operator, tuple(reversed(operands)))]
        dual = "|" if operator == "&" else "&"
        found += [negation(Formula(dual, tuple(negation(o) for o in operands)))]
    elif operator == "->":
        found += [disjunction(negation(operands[0]), operands[1])]
    return found


def rewritten(rng, formula, times):
    """Return a formula that is equal on infinite traces: `times` subformulas replaced by a law each."""
    for _ in range(times):
        place = rng.choice(list(formula.subformulas()))
        other = random_formula(rng, rng.randint(1, 3), NAMES)
        formula = replaced(formula, place, rng.choice(laws(place, other)))
    return formula


def replaced(formula, place, by):
    """Return `formula` with each subformula that is `place` replaced."""
    forms = {}
    for sub in formula.subformulas():
        operands = tuple(forms[operand] for operand in sub.operands)
        forms[sub] = by if sub is place else Formula(sub.operator, operands, sub.name)
    return forms[formula]


def differ(rng, left, right, lassos):
    """Tell whether some of so many random lassos satisfies one of two formulas only."""
    words = (random_lasso(rng, NAMES) for _ in range(lassos))
    return any(holds_forever(left, *word) != holds_forever(right, *word) for word in words)
