"""LTL on ultimately periodic traces by definition, and random formulas and traces to judge."""

from skm_machine.logic.syntax import FALSE, TRUE, Formula, boolean_value, proposition


def holds_forever(formula, prefix, loop):
    """Judge LTL on prefix·loop^ω by its fixed points, which shares nothing with the machines."""
    word = prefix + loop
    successor = [*range(1, len(word)), len(prefix)]
    truth = {}
    for sub in formula.subformulas():
        operands = [truth[operand] for operand in sub.operands]
        if sub.operator == "prop":
            truth[sub] = [sub.name in labels for labels in word]
        elif sub.operator == "X":
            truth[sub] = [operands[0][successor[i]] for i in range(len(word))]
        elif sub.operator in "FGURWM":
            truth[sub] = _fixed_point(sub.operator, operands, successor)
        else:
            truth[sub] = [
                boolean_value(sub.operator, [values[i] for values in operands])
                for i in range(len(word))
            ]
    return truth[formula][0]


def _fixed_point(operator, operands, successor):
    left, right = operands[0], operands[-1]
    rules = {  # where it holds now, given where it holds next; least fixed points start from False
        "F": lambda i, later: left[i] or later,
        "G": lambda i, later: left[i] and later,
        "U": lambda i, later: right[i] or (left[i] and later),
        "W": lambda i, later: right[i] or (left[i] and later),
        "R": lambda i, later: right[i] and (left[i] or later),
        "M": lambda i, later: right[i] and (left[i] or later),
    }
    values = [operator in "GRW"] * len(left)
    for _ in range(2 * len(values) + 2):
        values = [rules[operator](i, values[successor[i]]) for i in range(len(values))]
    return values


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
