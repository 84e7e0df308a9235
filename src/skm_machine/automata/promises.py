"""Promises: which of a residual's G, R and W formulas will hold for ever from now on.

With P a set of such subformulas ψ, write χ[P] for χ with every ψ in P replaced by true, and every
other one by its strong form (`G α` by false, `α R β` by `α M β`, `α W β` by `α U β`). Then

    w ⊨ φ   iff, for some i and P,   w_i ⊨ af(φ, w_0 … w_{i-1})[P]  and  w_i ⊨ G κ(ψ)[P] for ψ in P,

where κ(G α) = α, κ(α R β) = β and κ(α W β) = α | β: what ψ asks at every step if it holds at all of
them. From right to left, by induction on the size of ψ, all of P holds at every step from i on, and
χ[P] implies χ where it does. From left to right, take P = {ψ : w ⊨ F G ψ} and i so late that all of it
holds; a ψ outside of P that holds fails later, so its strong form holds. This is the half of the
Master Theorem (Esparza, Křetínský and Sickert, LICS 2018, Theorem 10) that guesses G-formulas only, as
in Sickert, Esparza, Jaax and Křetínský (CAV 2016).

No G, R or W is left in what a promise asks, so a deterministic automaton decides it: `Acceptors`.
"""

from __future__ import annotations

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

        Nor is it worth anything to promise nothing: where that is enough, the residual itself
        becomes true.
        """
        found = self._promises.get(function)
        if found is None:
            weakest = self._weakest(self._all(function))
            found = [promise for promise in weakest if promise.always]
            self._promises[function] = found
        return found

    def _all(self, function: int) -> list[Promise]:
        found: dict[Promise, None] = {}
        stack: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
        while stack:
            self.residuals.limits.check()
            promised, given_up = stack.pop()
            form = _StrongForm(self.residuals, promised, given_up)
            try:
                now = form.function(function)
                if now == ZERO:
                    continue
                always = frozenset(form.core(variable) for variable in promised) - {ONE}
            except _UndecidedError as undecided:
                stack.append((promised, given_up | {undecided.variable}))
                stack.append((promised | {undecided.variable}, given_up))
                continue
            if ZERO not in always:
                found[Promise(now, always)] = None
        return list(found)

    def _weakest(self, promises: list[Promise]) -> list[Promise]:
        """Drop every promise that implies another one."""
        diagrams = self.residuals.diagrams
        kept: list[tuple[Promise, int]] = []
        for promise in sorted(promises, key=lambda promise: len(promise.always)):
            together = ONE
            for function in sorted(promise.always):
                together = diagrams.conjunction(function, together)
            if together != ZERO and not any(
                diagrams.implies(promise.now, other.now) and diagrams.implies(together, every)
                for other, every in kept
            ):
                kept = [
                    (other, every)
                    for other, every in kept
                    if not (
                        diagrams.implies(other.now, promise.now)
                        and diagrams.implies(every, together)
                    )
                ]
                kept.append((promise, together))
        return [promise for promise, _ in kept]


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
