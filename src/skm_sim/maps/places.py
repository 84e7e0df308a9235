"""Named places on a map: which of them a pose is in, and which a way passes through.

This is the labelling function of a robot on a map, for every pose and not only for the centres of
cells: what a domain and a bridge both go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from skm_sim.arrays import BoolArray, FloatArray
from skm_sim.maps.place_shapes import Shape

LEAST_STRETCH: Final = 1e-9
"""Parts of a way that are shorter than this share of it are rounding."""


@dataclass(frozen=True)
class Places:
    """Shapes by name, in metres of the map frame; a name may have several, and they may overlap."""

    shapes: Mapping[str, tuple[Shape, ...]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names, in order: the propositions of a map's domain."""
        return tuple(self.shapes)

    @cached_property
    def _boxed(self) -> tuple[tuple[int, Shape, tuple[float, float, float, float]], ...]:
        """Every shape with the number of its name, and the box around it."""
        return tuple(
            (index, shape, shape.bounds)
            for index, shapes in enumerate(self.shapes.values())
            for shape in shapes
        )

    def labels_at(self, x: float, y: float) -> frozenset[str]:
        """Return the names of all places that the point lies in, edges included."""
        row = self.labels_of(np.array([[x, y]]))[0]
        return frozenset(name for name, true in zip(self.names, row.tolist(), strict=True) if true)

    def labels_of(self, points: FloatArray) -> BoolArray:
        """Return for `(n, 2)` points which places they lie in, `(n, names)`."""
        found = np.zeros((len(points), len(self.names)), np.bool_)
        for index, shapes in enumerate(self.shapes.values()):
            for shape in shapes:
                found[:, index] |= shape.contains(points)
        return found

    def distances(self, points: FloatArray) -> FloatArray:
        """Return for `(n, 2)` points how far each place is in metres, `(n, names)`; 0 within."""
        found = np.full((len(points), len(self.names)), np.inf)
        for index, shapes in enumerate(self.shapes.values()):
            for shape in shapes:
                found[:, index] = np.minimum(found[:, index], shape.distance(points))
        return found

    def label_sets_along(
        self, x0: float, y0: float, x1: float, y1: float
    ) -> tuple[frozenset[str], ...]:
        """Return the label sets that the straight way from one point to another passes through.

        In order, those of both ends included, neighbours different. It is exact: the way is cut
        where it meets the edge of a place, so nothing that it crosses is missed. A place that it
        only touches in one point, between its ends, does not count.
        """
        start, end = np.array([x0, y0]), np.array([x1, y1])
        near = [
            (index, shape)
            for index, shape, (left, low, right, high) in self._boxed
            if min(x0, x1) <= right
            and max(x0, x1) >= left
            and min(y0, y1) <= high
            and max(y0, y1) >= low
        ]
        if not near:
            return (frozenset(),)
        cuts = {0.0, 1.0}
        for _, shape in near:
            cuts.update(shape.crossings(start, end))
        ordered = np.array(sorted(cuts))
        long = np.diff(ordered) > LEAST_STRETCH
        middles = (ordered[:-1] + ordered[1:])[long] / 2
        points = np.concatenate([[start], start + middles[:, None] * (end - start), [end]])
        sets: list[frozenset[str]] = []
        found = np.zeros((len(points), len(self.names)), np.bool_)
        for index, shape in near:
            found[:, index] |= shape.contains(points)
        for row in found.tolist():
            names = frozenset(name for name, true in zip(self.names, row, strict=True) if true)
            if not sets or sets[-1] != names:
                sets.append(names)
        return tuple(sets)

    def plain_ways(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Tell which straight ways `(n, 2)` to `(n, 2)` show nothing beyond what their ends show.

        On a plain way each place is entered or left at most because an end lies in it: none is
        crossed that neither end is in, and none is left for a while that both ends are in.
        """
        plain = np.ones(len(starts), np.bool_)
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        for shapes in self.shapes.values():
            at_start, at_end = np.zeros(len(starts), np.bool_), np.zeros(len(starts), np.bool_)
            crossed, held = np.zeros_like(plain), np.zeros_like(plain)
            for shape in shapes:
                x0, y0, x1, y1 = shape.bounds
                near = np.flatnonzero(
                    (low[:, 0] <= x1) & (high[:, 0] >= x0) & (low[:, 1] <= y1) & (high[:, 1] >= y0)
                )
                at_start[near] |= shape.contains(starts[near])
                at_end[near] |= shape.contains(ends[near])
                crossed[near] |= shape.meets(starts[near], ends[near])
                held[near] |= shape.holds(starts[near], ends[near])
            plain &= ~(crossed & ~at_start & ~at_end)
            for index in np.flatnonzero(at_start & at_end & ~held):
                plain[index] &= _stays_in(shapes, starts[index], ends[index])
        return plain


def _stays_in(shapes: tuple[Shape, ...], start: FloatArray, end: FloatArray) -> bool:
    """Tell whether a way with both ends in the union of shapes never leaves it."""
    cuts = np.array(sorted({0.0, 1.0, *(t for s in shapes for t in s.crossings(start, end))}))
    middles = ((cuts[:-1] + cuts[1:]) / 2)[np.diff(cuts) > LEAST_STRETCH]
    points = start + middles[:, None] * (end - start)
    covered = np.zeros(len(points), np.bool_)
    for shape in shapes:
        covered |= shape.contains(points)
    return bool(covered.all())
