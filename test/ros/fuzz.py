"""Random and mutated messages: fields of all sizes, wrong kinds, no numbers, now and then megabytes."""

import copy
import random

NUMBERS = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint32": (0, 2**32 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint64": (0, 2**64 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
FLOATS = (0.0, 1.0, -1.0, 1e30, -1e30, 1e-30, float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "",
    "a",
    "G F button",
    "(" * 500,
    "[" * 5000,
    "\u2603" * 50,
    "F " * 3000,
    "{}",
    "x" * 10000,
    "#" * 200,
    "F[0," + "9" * 5000 + "] a",
)
HUGE_TEXT = "x" * 10_000_000


def mutated(message, chance, dice, huge=0.05):
    """Return a copy of a message with some of its fields, at any depth, replaced by random ones.

    A share of the texts and lists is `huge`: 10 MB.
    """
    result = copy.deepcopy(message)
    for name, kind in result.get_fields_and_field_types().items():
        value = getattr(result, name)
        if hasattr(value, "get_fields_and_field_types"):
            setattr(result, name, mutated(value, chance, dice, huge))
        elif dice.random() < chance:
            new = _random(kind, value, dice, dice.random() < huge)
            if new is not None:
                setattr(result, name, new)
    return result


def _random(kind, value, dice, huge):
    """Return a random value of a field's type; None for those that are left as they are."""
    base = kind.removeprefix("sequence<").removesuffix(">").split("[")[0].split(",")[0]
    many = kind.startswith("sequence")
    if not many and "[" in kind:
        return None
    if many:
        size = 2_500_000 if huge else dice.choice((0, 1, 2, 3, 10, 12, 59, 60, 61, 1000))
        if base in ("float", "double"):
            return [dice.choice(FLOATS)] * size if size > 1000 else _floats(size, dice)
        if base in NUMBERS:
            low, high = NUMBERS[base]
            return [dice.choice((0, 1, low, high))] * size
        if base == "boolean":
            return [dice.random() < 0.5] * min(size, 100_000)
        if base == "string":
            return [dice.choice(TEXTS) for _ in range(min(size, 100))]
        return list(value)[: dice.randrange(3)] if value else None
    if base in ("float", "double"):
        return dice.choice(FLOATS[:6] if base == "double" else (0.0, 1.0, -1.0, 1e30, 0.05))
    if base in NUMBERS:
        low, high = NUMBERS[base]
        return dice.choice((low, high, 0, 1, dice.randint(low, high)))
    if base == "boolean":
        return dice.random() < 0.5
    if base == "string":
        return HUGE_TEXT if huge else dice.choice(TEXTS)
    return None


def _floats(size, dice):
    return [dice.choice((*FLOATS[:6], 0.5, 0.5, 0.5, float("nan"))) for _ in range(size)]


def dice_of(seed):
    """Return a source of chance of its own."""
    return random.Random(seed)
