"""The value function and the policy of every primitive of a tabular domain."""

from __future__ import annotations

import numpy as np

from skm_machine.errors import SkmError
from skm_primitives.figures import value_map
from skm_primitives.figures.options import Drawn, FigureOptions
from skm_primitives.skills.composition import primitive
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import GoalValues, Primitives
from skm_sim.arrays import Float32Array, IntArray
from skm_sim.artists import ValuePanel, ValuesArtist
from skm_sim.locations import load_attribute
from skm_sim.spec import DomainSpec
from skm_sim.tabular import tabular_model


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw a panel for each primitive, as `fig:ow_values_base`.

    No arrow is drawn where the primitive is true already, nor where it has no value.
    """
    if "values" not in spec.figures and spec.position is not None:
        return value_map.draw(spec, options)
    if "values" not in spec.figures:
        raise SkmError(
            f"'{spec.name}' has no map to draw values on: its spec names neither an artist"
            " (figures['values']) nor the two numbers of an observation that are x and y (position)."
        )
    artist: ValuesArtist = load_attribute(spec.figures["values"])
    primitives = load_primitives(spec, options.checkpoint)
    cell_labels = tabular_model(spec).cell_labels
    panels = []
    names = [(name, False) for name in spec.propositions]
    for name, constraint in [*names, *((name, True) for name in spec.constraints)]:
        value, action = primitive_values(primitives, len(cell_labels), name, constraint=constraint)
        there = cell_labels[:, spec.propositions.index(name)]
        action[there | (value <= 0)] = -1
        title = f"constraint: {name}" if constraint else name.replace("_", " ")
        panels.append(ValuePanel(title, value, action))
    env = spec.make()
    figure = artist(env.unwrapped, panels)
    env.close()
    return Drawn(figure, {"primitives": [panel.title for panel in panels]})


def primitive_values(
    primitives: Primitives, cells: int, name: str, *, constraint: bool
) -> tuple[Float32Array, IntArray]:
    """Return V(s) and the best action of a primitive in every cell, no constraint being violated."""
    best = []
    for cell in range(cells):
        found = primitives.values(cell, frozenset())
        if not isinstance(found, GoalValues):
            raise SkmError(f"the primitives of '{primitives.domain}' have no discrete actions.")
        q_max = np.maximum(found.move, found.stop)
        best.append(primitive(name, primitives.goals, q_max, constraint=constraint).max(axis=0))
    q = np.array(best)
    return q.max(axis=1), q.argmax(axis=1)
