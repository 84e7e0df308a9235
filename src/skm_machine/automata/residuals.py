"""What remains to be satisfied of a formula on infinite traces, after each label set.

As in `translation`, a state is a Boolean function over *obligations*, kept as a decision diagram; here
an obligation is an elementary formula that shall hold from now on: a proposition, `X e` for another
obligation e, `F α` or `α U β`. On infinite traces X distributes over every Boolean operator and G is
the dual of F, so that equal functions are equal residuals (the *after* function af(φ, w) of Esparza,
Křetínský and Sickert, "One theorem to rule them all", LICS 2018, up to propositional equivalence).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from skm_machine.automata.limits import LimitReachedError, Limits
from skm_machine.automata.mtbdd import ONE, ZERO, Diagrams
from skm_machine.logic.formula import Formula
from skm_machine.logic.normal_forms import chains_of_next, negation_normal_form

MAX_OBLIGATIONS: Final = 4000

Key = tuple[str, int, int]
"""An obligation: its operator, and the functions (for `X`: the variable) that it applies to."""

LabelledEdge = tuple[int, int]
"""The label of an edge, as a function of the propositions, and its target."""


class Residuals:
    """The obligations of one translation, and how a function over them changes with each label set.

    Variables 0 … n - 1 are the propositions of the label set that is read now; the obligations follow.
    """

    def __init__(self, names: tuple[str, ...], limits: Limits) -> None:
        self.names = names
        self.limits = limits
        self.diagrams = Diagrams(limits.check)
        self.first = len(names)
        self.keys: list[Key] = []
        self._variables: dict[Key, int] = {}
        self._successors: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self._next: dict[int, int] = {ZERO: ZERO, ONE: ONE}
        self._edges: dict[int, list[LabelledEdge]] = {}
        self.care = ONE
        """Laws of the obligations, which hold on every trace."""
        self._eventual: dict[int, bool] = {ZERO: True, ONE: True}

    # From formulas to functions -------------------------------------------------------------------

    def function(self, formula: Formula) -> int:
        """Return what `formula` asks from now on, as a function over obligations."""
        form = negation_normal_form(formula)
        self._order_delays(form)
        functions: dict[Formula, int] = {}
        for sub in form.subformulas():
            functions[sub] = self._operation(sub, functions)
        return functions[form]

    def _order_delays(self, formula: Formula) -> None:
        """Number the propositions below long chains of X first, the longest delays before all others.

        So the residuals of a bound share their diagrams: see `translation`.
        """
        delays: dict[Key, int] = {}
        for sub, delay in chains_of_next(formula).items():
            for name in sub.propositions() if sub.is_boolean() else ():
                key = ("prop", self.names.index(name), 0)
                if key not in self._variables:
                    delays[key] = max(delay, delays.get(key, 0))
        numbers: dict[tuple[Key, int], int] = {}
        for level in reversed(range(max(delays.values(), default=-1) + 1)):
            for key, delay in delays.items():
                if level <= delay:
                    numbers[key, level] = self.first + len(self.keys) + len(numbers)
        for key, level in numbers:
            self._obligation(("X", numbers[key, level - 1], 0) if level else key)

    def _operation(self, formula: Formula, functions: dict[Formula, int]) -> int:
        diagrams = self.diagrams
        operands = [functions[operand] for operand in formula.operands]
        match formula.operator:
            case "prop":
                return self._obligation(("prop", self.names.index(formula.name), 0))
            case "X":
                return self.next(operands[0])
            case "F":
                result = ZERO
                for part in _parts("|", formula.operands[0], functions, diagrams):
                    result = diagrams.disjunction(self.eventually(part), result)
                return result
            case "G":
                result = ONE
                for part in _parts("&", formula.operands[0], functions, diagrams):
                    result = diagrams.conjunction(self.always(part), result)
                return result
            case "U":
                return self.until(*operands)
            case "R":
                left, right = map(diagrams.negation, operands)
                return diagrams.negation(self.until(left, right))
            case "W":
                left, right = map(diagrams.negation, operands)
                return diagrams.negation(self.until(right, diagrams.conjunction(left, right)))
            case "M":
                return self.until(operands[1], diagrams.conjunction(*operands))
            case _:
                return diagrams.operation(formula, operands, lambda _: ZERO)

    def _obligation(self, key: Key) -> int:
        """Return the function that is this obligation."""
        variable = self._variables.get(key)
        if variable is None:
            if len(self.keys) >= MAX_OBLIGATIONS:
                raise LimitReachedError(
                    f"more than {MAX_OBLIGATIONS} temporal operators and steps in bounds"
                )
            variable = self._variables[key] = self.first + len(self.keys)
            self.keys.append(key)
        return self.diagrams.literal(variable)

    def key(self, function: int) -> Key:
        """Return the obligation that the topmost node of `function` tests."""
        return self.keys[self.diagrams.variable[function] - self.first]

    def obligation_below_next(self, variable: int) -> Key:
        """Return an obligation without the X before it."""
        key = self.keys[variable - self.first]
        while key[0] == "X":
            key = self.keys[key[1] - self.first]
        return key

    def next(self, function: int) -> int:
        """Return `X function`, by what X e is for each of its obligations e."""
        found = self._next.get(function)
        if found is None:
            diagrams, variable = self.diagrams, self.diagrams.variable[function]
            later = diagrams.literal(variable)
            if not self._is_suspended(variable):
                later = self._obligation(("X", variable, 0))
            low, high = self.next(diagrams.low[function]), self.next(diagrams.high[function])
            found = self._next[function] = diagrams.if_then_else(later, high, low)
        return found

    def eventually(self, function: int) -> int:
        """Return `F function`; what is itself an eventuality stays as it is."""
        return function if self.is_eventual(function) else self._obligation(("F", function, 0))

    def always(self, function: int) -> int:
        """Return `G function`."""
        return self.diagrams.negation(self.eventually(self.diagrams.negation(function)))

    def until(self, left: int, right: int) -> int:
        """Return `left U right`, as something simpler where it is that."""
        if self.is_eventual(right) or self.diagrams.implies(left, right):
            return right
        if left == ONE or self.diagrams.implies(self.diagrams.negation(right), left):
            return self.eventually(right)
        return self._obligation(("U", left, right))

    def is_eventual(self, function: int) -> bool:
        """Tell whether `F function` is `function` by its form: built of F and G F with `&` and `|`."""
        found = self._eventual.get(function)
        if found is None:
            diagrams = self.diagrams
            variable, low, high = (
                diagrams.variable[function],
                diagrams.low[function],
                diagrams.high[function],
            )
            operator, _, right = self.keys[variable - self.first]
            found = (
                (
                    operator == "F"
                    or (operator == "U" and self.is_eventual(right))
                    or self._is_suspended(variable)
                )
                and self.is_eventual(low)
                and self.is_eventual(high)
                and (self._is_suspended(variable) or diagrams.implies(low, high))
            )
            self._eventual[function] = found
        return found

    def _is_suspended(self, variable: int) -> bool:
        """Tell whether the obligation is `F G α`: no finite prefix changes anything about it."""
        operator, operand, _ = self.keys[variable - self.first]
        return operator == "F" and self.is_eventual(self.diagrams.negation(operand))

    def learn_laws(self) -> None:
        """Set down what holds of the obligations on every trace: e implies F e and α U e."""
        laws, diagrams = ONE, self.diagrams
        for index, (operator, left, right) in enumerate(self.keys):
            premise = {"F": left, "U": right}.get(operator, ZERO)
            if premise > ONE and diagrams.is_literal(premise) and self.key(premise)[0] in "FU":
                obligation = diagrams.literal(self.first + index)
                laws = diagrams.conjunction(laws, diagrams.if_then_else(premise, obligation, ONE))
        self.care = laws

    def lawful(self, function: int) -> int:
        """Return one function for all that differ from `function` only where a law is broken."""
        return self.diagrams.constrained(function, self.care)

    # Reading label sets ---------------------------------------------------------------------------

    def successor(self, function: int) -> int:
        """Return the diagram from label sets to what remains of `function` after them."""
        found = self._successors.get(function)
        if found is None:
            diagrams = self.diagrams
            expansion = self.lawful(self._expansion(diagrams.variable[function]))
            low = self.successor(diagrams.low[function])
            high = self.successor(diagrams.high[function])
            found = self._successors[function] = diagrams.if_then_else(expansion, high, low)
        return found

    def _expansion(self, variable: int) -> int:
        """Return what an obligation asks of the label set that is read, and of what comes then."""
        operator, left, right = self.keys[variable - self.first]
        itself = self.diagrams.literal(variable)
        match operator:
            case "prop" | "X":
                return self.diagrams.literal(left)
            case "F":
                return self.diagrams.disjunction(self.successor(left), itself)
            case _:
                waiting = self.diagrams.conjunction(self.successor(left), itself)
                return self.diagrams.disjunction(self.successor(right), waiting)

    def edges(self, function: int) -> list[LabelledEdge]:
        """Return what `function` becomes, and on which label sets: labels that exclude each other."""
        found = self._edges.get(function)
        if found is None:
            root = self.successor(function)
            found = self._edges[function] = [
                (label, leaves[0]) for leaves, label in self.split((root,)).items()
            ]
        return found

    def split(self, roots: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        """Return, for each combination of what `roots` lead to, the label sets that do so."""
        return self.diagrams.split(roots, self.first)


def _parts(
    operator: str, formula: Formula, functions: dict[Formula, int], diagrams: Diagrams
) -> list[int]:
    """Return what F or G distributes over: the temporal parts one by one, the Boolean ones together."""
    if formula.operator != operator:
        return [functions[formula]]
    temporal = [part for part in formula.operands if not part.is_boolean()]
    boolean = [functions[part] for part in formula.operands if part.is_boolean()]
    together = ZERO if operator == "|" else ONE
    for part in boolean:
        join = diagrams.disjunction if operator == "|" else diagrams.conjunction
        together = join(together, part)
    return [functions[part] for part in temporal] + ([together] if boolean else [])


# Commitments: which of a residual's G, R and W formulas will hold forever from now on.
#
# With P a set of such subformulas ψ, write χ[P] for χ with every ψ in P replaced by true, and
# every other one by its strong form (`G α` by false, `α R β` by `α M β`, `α W β` by `α U β`).
# Then
#
#     w ⊨ φ   iff, for some i and P,   w_i ⊨ af(φ, w_0 … w_{i-1})[P]  and  w_i ⊨ G κ(ψ)[P] for ψ in
#       P,
#
# where κ(G α) = α, κ(α R β) = β and κ(α W β) = α | β: what ψ asks at every step if it holds at
# all of them. From right to left, by induction on the size of ψ, all of P holds at every step
# from i on, and χ[P] implies χ where it does. From left to right, take P = {ψ : w ⊨ F G ψ} and i
# so late that all of it holds; a ψ outside of P that holds fails later, so its strong form holds.
# This is the side of the Master Theorem (Esparza, Křetínský and Sickert, "One theorem to rule
# them all", LICS 2018) that guesses what holds forever only, as in Sickert, Esparza, Jaax and
# Křetínský (CAV 2016).
#
# No G, R or W is left in what a commitment asks, so a deterministic automaton decides it:
# `Acceptors`.


@dataclass(frozen=True)
class Commitment:
    """What a set of commitments asks: something now (co-safe), and things at every step from now on."""

    now: int
    always: frozenset[int]


class _UndecidedError(Exception):
    """Raised where a formula is met that is neither committed nor given up yet."""

    def __init__(self, variable: int) -> None:
        self.variable = variable


class Commitments:
    """The commitments that can be made for functions over the obligations of one translation."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self._commitments: dict[int, list[Commitment]] = {}

    def of(self, function: int) -> list[Commitment]:
        """Return the commitments worth making for `function`: none asks more than another one.

        The fewest commitments are tried first. Where several are still undecided, what comes of them
        asks at least what it would if all of them lasted for nothing.
        """
        found = self._commitments.get(function)
        if found is None:
            weakest = _Weakest(self.residuals)
            stack: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
            while stack:
                self.residuals.limits.check()
                committed, given_up = stack.pop()
                form = _StrongForm(self.residuals, committed, given_up)
                try:
                    now = form.function(function)
                    always = form.cores(committed) if now != ZERO else []
                except _UndecidedError as undecided:
                    form = _StrongForm(self.residuals, self._every() - given_up, given_up)
                    if not weakest.implied_by(form.function(function), form.cores(committed)):
                        stack.append((committed | {undecided.variable}, given_up))
                        stack.append((committed, given_up | {undecided.variable}))
                else:
                    weakest.add(now, always)
            found = self._commitments[function] = weakest.commitments()
        return found

    def _every(self) -> frozenset[int]:
        """Return all obligations."""
        first = self.residuals.first
        return frozenset(range(first, first + len(self.residuals.keys)))

    def if_all_lasts(self, function: int) -> int:
        """Return `function`[P] with every G, R and W committed."""
        return _StrongForm(self.residuals, self._every(), frozenset()).function(function)


class _Weakest:
    """Commitments of which none implies another one."""

    def __init__(self, residuals: Residuals) -> None:
        self.diagrams = residuals.diagrams
        self.kept: list[tuple[Commitment, int]] = []

    def commitments(self) -> list[Commitment]:
        """Return what was kept."""
        return [commitment for commitment, _ in self.kept]

    def implied_by(self, now: int, always: Collection[int]) -> bool:
        """Tell whether what is asked is impossible, or asks no less than something kept."""
        together = self._together(always)
        return ZERO in (now, together) or any(
            self._implies(now, together, commitment, every) for commitment, every in self.kept
        )

    def add(self, now: int, always: Collection[int]) -> None:
        """Keep a commitment, unless it is implied by one that is kept, and drop what implies it."""
        if not self.implied_by(now, always):
            commitment = Commitment(now, frozenset(always) - {ONE})
            together = self._together(always)
            self.kept = [
                (other, every)
                for other, every in self.kept
                if not self._implies(other.now, every, commitment, together)
            ]
            self.kept.append((commitment, together))

    def _implies(self, now: int, together: int, commitment: Commitment, every: int) -> bool:
        return self.diagrams.implies(now, commitment.now) and self.diagrams.implies(together, every)

    def _together(self, functions: Collection[int]) -> int:
        together = ONE
        for function in functions:
            together = self.diagrams.conjunction(function, together)
        return together


class _StrongForm:
    """χ[P] for one P: the negated obligations in `committed` are true, those `given_up` are strong."""

    def __init__(
        self, residuals: Residuals, committed: frozenset[int], given_up: frozenset[int]
    ) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.committed = committed
        self.given_up = given_up
        self._functions: dict[int, int] = {ZERO: ZERO, ONE: ONE}

    def core(self, variable: int) -> int:
        """Return κ(ψ)[P] for a committed ψ, which is the negation of the obligation `variable`."""
        operator, left, right = self.residuals.keys[variable - self.residuals.first]
        return self.function(self.diagrams.negation(left if operator == "F" else right))

    def cores(self, committed: frozenset[int]) -> list[int]:
        """Return what the committed formulas ask at every step."""
        return [self.core(variable) for variable in sorted(committed)]

    def function(self, function: int) -> int:
        """Return `function`[P].

        A function that grows with an obligation needs no negation of it: `(x & high) | low`.
        """
        found = self._functions.get(function)
        if found is None:
            diagrams = self.diagrams
            variable = diagrams.variable[function]
            low, high = diagrams.low[function], diagrams.high[function]
            if diagrams.implies(low, high):
                first, second = self._held(variable, high), self.function(low)
            elif diagrams.implies(high, low):
                first, second = self._broken(variable, low), self.function(high)
            else:
                first, second = self._held(variable, high), self._broken(variable, low)
            found = self._functions[function] = diagrams.disjunction(first, second)
        return found

    def _held(self, variable: int, rest: int) -> int:
        rest = self.function(rest)
        return self.diagrams.conjunction(self._positive(variable), rest) if rest else ZERO

    def _broken(self, variable: int, rest: int) -> int:
        rest = self.function(rest)
        return self.diagrams.conjunction(self._negative(variable), rest) if rest else ZERO

    def _positive(self, variable: int) -> int:
        """Return e[P] for an obligation e."""
        operator, left, right = self.residuals.keys[variable - self.residuals.first]
        match operator:
            case "prop":
                return self.diagrams.literal(variable)
            case "X":
                return self.residuals.next(self._positive(left))
            case "F":
                return self.residuals.eventually(self.function(left))
            case _:
                return self.residuals.until(self.function(left), self.function(right))

    def _negative(self, variable: int) -> int:
        """Return (!e)[P] for an obligation e."""
        operator, left, right = self.residuals.keys[variable - self.residuals.first]
        match operator:
            case "prop":
                return self.diagrams.negation(self.diagrams.literal(variable))
            case "X":
                return self.residuals.next(self._negative(left))
        if variable in self.committed:
            return ONE
        if variable not in self.given_up:
            raise _UndecidedError(variable)
        if operator == "F":
            return ZERO
        not_left = self.function(self.diagrams.negation(left))
        not_right = self.function(self.diagrams.negation(right))
        return self.residuals.until(not_right, self.diagrams.conjunction(not_left, not_right))
