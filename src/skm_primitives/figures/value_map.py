"""The value of reaching each proposition, over the places that a robot gets to: what networks learned.

For domains whose observations say where the robot is (`position` of the spec). What else is observed
differs from state to state, so values are those of states that really occur: a batch of worlds is
walked through at random, and a spot of the map has the mean value of the states that were in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from skm_machine.errors import SkmError
from skm_primitives.figures.options import Drawn, FigureOptions
from skm_primitives.skills.goals import Goal
from skm_primitives.skills.loading import load_primitives
from skm_primitives.skills.values import ContinuousGoalValues
from skm_sim.arrays import BoolArray, Float32Array, FloatArray, IntArray
from skm_sim.faults import environment_faults
from skm_sim.observations import is_vector
from skm_sim.scene import scene_of
from skm_sim.scene_drawing import OVER_EVERYTHING, draw_scene
from skm_sim.spec import DomainSpec

WORLDS: Final = 64
WALKS: Final = 6
"""Episodes in each world."""
HELD: Final = 8
"""Steps for which a random action is held, so that walks lead somewhere."""
SPOTS: Final = 64
"""Spots along the longer side of the map."""
COLUMNS: Final = 4
HEAT: Final = LinearSegmentedColormap.from_list(
    "skm_heat_map", ["#fbf6ea", "#fbe3a6", "#f7b267", "#ea6f52", "#b8336a", "#6a2c70"]
)


class BatchSkills(Protocol):
    """Primitives that value many observations at once: those of networks."""

    goals: tuple[Goal, ...]

    def batch_values(self, observations: NDArray[Any], violated: IntArray) -> ContinuousGoalValues:
        """Return the values of every goal for observations `(n, …)`."""
        ...


def draw(spec: DomainSpec, options: FigureOptions) -> Drawn:
    """Draw a panel for each skill: its mean value, spot by spot."""
    first, second = _position(spec)
    skills = load_primitives(spec, options.checkpoint)
    seen = walked(spec, options)
    values = cast(BatchSkills, skills).batch_values(seen, np.zeros(len(seen), np.int64)).value
    place = np.asarray(seen[:, [first, second]], np.float64)
    panels = {
        title: values[:, mask].max(axis=1, initial=0)
        for title, mask in _masks(spec, skills.goals).items()
    }
    return Drawn(_figure(spec, place, panels), {"primitives": list(panels), "states": len(seen)})


def _position(spec: DomainSpec) -> tuple[int, int]:
    """Return which numbers of an observation are x and y; a spec that does not fit is an error."""
    env = spec.make()
    space = env.observation_space
    env.close()
    if spec.position is None or not is_vector(space):
        raise SkmError(f"position is for observed vectors of numbers, not for {space}.")
    assert space.shape is not None
    if max(spec.position) >= space.shape[0]:
        raise SkmError(
            f"position is {spec.position}, but an observation of '{spec.name}' has"
            f" {space.shape[0]} numbers, counted from 0."
        )
    return spec.position


def _masks(spec: DomainSpec, goals: Sequence[Goal]) -> dict[str, BoolArray]:
    """Return the goals of each proposition; then those of them that avoid every constraint.

    What networks learn of a constraint is how to reach things without a change of it (`goal_space`),
    so that is what is shown, for all that is no constraint itself.
    """
    masks = {name: np.array([name in goal.labels for goal in goals]) for name in spec.propositions}
    strict = np.array([not goal.violated for goal in goals])
    others = [name for name in spec.propositions if name not in spec.constraints]
    kept = {f"{name}, strict": masks[name] & strict for name in others} if spec.constraints else {}
    return {title.replace("_", " "): mask for title, mask in {**masks, **kept}.items()}


def walked(spec: DomainSpec, options: FigureOptions) -> NDArray[Any]:
    """Return the observations of random walks `(n, …)`, the same for the same seed."""
    env = spec.make_batch(WORLDS)
    env.action_space.seed(options.seed)
    seen = []
    with environment_faults(spec.name, "reset() or step()"):
        for walk in options.track(range(WALKS), f"walks in {spec.name}"):
            seen.append(env.reset(seed=options.seed * WALKS + walk)[0])
            action = env.action_space.sample()
            for step in range(spec.primitive_steps):
                if step % HELD == 0:
                    action = env.action_space.sample()
                seen.append(env.step(action)[0])
    env.close()
    return np.concatenate(seen)


def spot_means(place: FloatArray, value: Float32Array) -> tuple[FloatArray, FloatArray]:
    """Return mean values `[row, column]` with y growing along rows, and the edges (least, most) x, y.

    Spots in which no state was are not-a-number.
    """
    low, high = place.min(axis=0), place.max(axis=0)
    side = max(float((high - low).max()) / SPOTS, 1e-9)
    counts = np.maximum(np.ceil((high - low) / side).astype(np.int64), 1)
    column, row = np.minimum(((place - low) / side).astype(np.int64), counts - 1).T
    total, states = np.zeros((2, counts[1], counts[0]))
    np.add.at(total, (row, column), value)
    np.add.at(states, (row, column), 1)
    mean = np.where(states > 0, total / np.maximum(states, 1), np.nan)
    return mean, np.array([low, low + counts * side])


def _figure(spec: DomainSpec, place: FloatArray, panels: dict[str, Float32Array]) -> Figure:
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.7 * columns + 0.8, 2.3 * rows), layout="constrained")
    env = spec.make()
    env.reset(seed=0)
    walls = [shape for shape in scene_of(spec, env) if shape.group != "robot"]
    env.close()
    norm = Normalize(0.0, 1.0)
    for number, (title, value) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(rows, columns, number)
        if walls:
            draw_scene(axes, walls)
        axes.axis("off")
        mean, (low, high) = spot_means(place, value)
        box = (low[0], high[0], low[1], high[1])
        axes.imshow(mean, extent=box, origin="lower", cmap=HEAT, norm=norm, zorder=OVER_EVERYTHING)
        axes.set_title(title, size=9)
    figure.colorbar(ScalarMappable(norm, HEAT), ax=figure.axes, shrink=0.6, label="value")
    return figure
