"""Bounded operators by definition, on finite traces and lassos, and random formulas to judge.

A formula is a tree of plain tuples: a name, `("!", a)`, `("&", a, b)`, or `(operator, first, last,
*operands)` with `last` None where there is no upper bound. Nothing here knows how skm reads bounds.
"""


def text_of(tree):
    """Return the formula as a person would write it."""
    if isinstance(tree, str):
        return tree
    if tree[0] == "!":
        return f"!({text_of(tree[1])})"
    if tree[0] in "&|":
        return f"(({text_of(tree[1])}) {tree[0]} ({text_of(tree[2])}))"
    operator, first, last, *operands = tree
    bound = f"{operator}[{first},{'' if last is None else last}]"
    texts = [f"({text_of(operand)})" for operand in operands]
    return f"{bound} {texts[0]}" if len(texts) == 1 else f"({texts[0]} {bound} {texts[1]})"


def holds_bounded(tree, prefix, loop=()):
    """Judge a tree on the finite trace `prefix`, or on prefix·loop^ω where there is a loop."""
    word = [*prefix, *loop]
    steps = len(prefix) + 2 * len(word)

    def at(position, k):
        if position + k < len(word):
            return position + k
        return len(prefix) + (position + k - len(prefix)) % len(loop) if loop else None

    def truth(tree):
        if isinstance(tree, str):
            return [tree in labels for labels in word]
        if tree[0] == "!":
            return [not value for value in truth(tree[1])]
        if tree[0] in "&|":
            both = zip(truth(tree[1]), truth(tree[2]), strict=True)
            return [a and b if tree[0] == "&" else a or b for a, b in both]
        operator, first, last, *operands = tree
        values = [truth(operand) for operand in operands]
        rule = RULES[operator]
        end = first + steps if last is None else last
        return [rule(*values, first, end, lambda k, p=p: at(p, k)) for p in range(len(word))]

    return truth(tree)[0]


def _until(left, right, first, last, at):
    for k in range(last + 1):
        if at(k) is None:
            return False
        if k >= first and right[at(k)]:
            return True
        if not left[at(k)]:
            return False
    return False


def _always(values, first, last, at):
    return all(values[at(k)] for k in range(first, last + 1) if at(k) is not None)


def _opposite(*values):
    return [[not value for value in row] for row in values]


def _weak_until(left, right, first, last, at):
    return _until(left, right, first, last, at) or _always(left, 0, last, at)


RULES = {
    "F": lambda a, i, j, at: any(a[at(k)] for k in range(i, j + 1) if at(k) is not None),
    "G": _always,
    "U": _until,
    "W": _weak_until,
    "R": lambda a, b, i, j, at: not _until(*_opposite(a, b), i, j, at),
    "M": lambda a, b, i, j, at: not _weak_until(*_opposite(a, b), i, j, at),
}


def random_tree(rng, size, names, most=3):
    """Return a tree of about `size` operators, with bounds up to 2 · `most`."""
    if size <= 0:
        return rng.choice(names)
    operator = rng.choice("!&|FGFGUWRM")
    left = rng.randint(0, size - 1)
    operands = [random_tree(rng, left, names, most), random_tree(rng, size - 1 - left, names, most)]
    if operator in "!FG":
        operands = [random_tree(rng, size - 1, names, most)]
    if operator in "!&|":
        return (operator, *operands)
    first = rng.randint(0, most)
    last = None if rng.random() < 0.15 else first + rng.randint(0, most)
    return (operator, first, last, *operands)
