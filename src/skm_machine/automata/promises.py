"""Promises: which of a residual's G, R and W formulas will hold for ever from now on.

With P a set of such subformulas ψ, write χ[P] for χ with every ψ in P replaced by true, and every
other one by its strong form (`G α` by false, `α R β` by `α M β`, `α W β` by `α U β`). Then

    w ⊨ φ   iff, for some i and P,   w_i ⊨ af(φ, w_0 … w_{i-1})[P]  and  w_i ⊨ G κ(ψ)[P] for ψ in P,

where κ(G α) = α, κ(α R β) = β and κ(α W β) = α | β: what ψ asks at every step if it holds at all of
them. From right to left, by induction on the size of ψ, all of P holds at every step from i on, and
χ[P] implies χ where it does. From left to right, take P = {ψ : w ⊨ F G ψ} and i so late that all of it
holds; a ψ outside of P that holds fails later, so its strong form holds. This is the side of the
Master Theorem (Esparza, Křetínský and Sickert, "One theorem to rule them all", LICS 2018) that guesses
what holds for ever only, as in Sickert, Esparza, Jaax and Křetínský (CAV 2016).

No G, R or W is left in what a promise asks, so a deterministic automaton decides it: `Acceptors`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from skm_machine.automata.bdd import ONE, ZERO
from skm_machine.automata.residuals import Residuals


@dataclass(frozen=True)
class Promise:
    """What a set of promises asks: something now (co-safe), and things at every step from now on."""

    now: int
    always: frozenset[int]


class _UndecidedError(Exception):
    """Raised where a formula is met that is neither promised nor given up yet."""

    def __init__(self, variable: int) -> None:
        self.variable = variable


class Promises:
    """The promises that can be made for functions over the obligations of one translation."""

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self._promises: dict[int, list[Promise]] = {}

    def of(self, function: int) -> list[Promise]:
        """Return the promises worth making for `function`: none asks more than another one.

        The fewest promises are tried first. Where several are still undecided, what comes of them
        asks at least what it would if all of them lasted for nothing.
        """
        found = self._promises.get(function)
        if found is None:
            weakest = _Weakest(self.residuals)
            stack: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
            while stack:
                self.residuals.limits.check()
                promised, given_up = stack.pop()
                form = _StrongForm(self.residuals, promised, given_up)
                try:
                    now = form.function(function)
                    always = form.cores(promised) if now != ZERO else []
                except _UndecidedError as undecided:
                    form = _StrongForm(self.residuals, self._every() - given_up, given_up)
                    if not weakest.implied_by(form.function(function), form.cores(promised)):
                        stack.append((promised | {undecided.variable}, given_up))
                        stack.append((promised, given_up | {undecided.variable}))
                else:
                    weakest.add(now, always)
            found = self._promises[function] = weakest.promises()
        return found

    def _every(self) -> frozenset[int]:
        """Return all obligations."""
        first = self.residuals.first
        return frozenset(range(first, first + len(self.residuals.keys)))

    def if_all_lasts(self, function: int) -> int:
        """Return `function`[P] with every G, R and W promised."""
        return _StrongForm(self.residuals, self._every(), frozenset()).function(function)


class _Weakest:
    """Promises of which none implies another one."""

    def __init__(self, residuals: Residuals) -> None:
        self.diagrams = residuals.diagrams
        self.kept: list[tuple[Promise, int]] = []

    def promises(self) -> list[Promise]:
        """Return what was kept."""
        return [promise for promise, _ in self.kept]

    def implied_by(self, now: int, always: Collection[int]) -> bool:
        """Tell whether what is asked is impossible, or asks no less than something kept."""
        together = self._together(always)
        return ZERO in (now, together) or any(
            self._implies(now, together, promise, every) for promise, every in self.kept
        )

    def add(self, now: int, always: Collection[int]) -> None:
        """Keep a promise, unless it is implied by one that is kept, and drop what implies it."""
        if not self.implied_by(now, always):
            promise = Promise(now, frozenset(always) - {ONE})
            together = self._together(always)
            self.kept = [
                (other, every)
                for other, every in self.kept
                if not self._implies(other.now, every, promise, together)
            ]
            self.kept.append((promise, together))

    def _implies(self, now: int, together: int, promise: Promise, every: int) -> bool:
        return self.diagrams.implies(now, promise.now) and self.diagrams.implies(together, every)

    def _together(self, functions: Collection[int]) -> int:
        together = ONE
        for function in functions:
            together = self.diagrams.conjunction(function, together)
        return together


class _StrongForm:
    """χ[P] for one P: the negated obligations in `promised` are true, those `given_up` are strong."""

    def __init__(
        self, residuals: Residuals, promised: frozenset[int], given_up: frozenset[int]
    ) -> None:
        self.residuals = residuals
        self.diagrams = residuals.diagrams
        self.promised = promised
        self.given_up = given_up
        self._functions: dict[int, int] = {ZERO: ZERO, ONE: ONE}

    def core(self, variable: int) -> int:
        """Return κ(ψ)[P] for a promised ψ, which is the negation of the obligation `variable`."""
        operator, left, right = self.residuals.keys[variable - self.residuals.first]
        return self.function(self.diagrams.negation(left if operator == "F" else right))

    def cores(self, promised: frozenset[int]) -> list[int]:
        """Return what the promised formulas ask at every step."""
        return [self.core(variable) for variable in sorted(promised)]

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
        if variable in self.promised:
            return ONE
        if variable not in self.given_up:
            raise _UndecidedError(variable)
        if operator == "F":
            return ZERO
        not_left = self.function(self.diagrams.negation(left))
        not_right = self.function(self.diagrams.negation(right))
        return self.residuals.until(not_right, self.diagrams.conjunction(not_left, not_right))
