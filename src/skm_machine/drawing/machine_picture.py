"""Pictures of machines: an SVG document with the states, their skills, and the edges between them.

The accepted state is a green double circle, failure states and the edges to them are red and dashed,
rewarded edges are green, with a star where the mission goes on. Everything is deterministic and needs
nothing but the standard library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from skm_machine.drawing.canvas import (
    ACCEPTED,
    FAILED,
    WORKING,
    Canvas,
    Card,
    Circle,
    Dot,
    Path,
    Text,
    Tone,
)
from skm_machine.drawing.edge_paths import Paths, Piece, Shape
from skm_machine.drawing.layering import Node
from skm_machine.drawing.lettering import LINE_HEIGHT, broken, symbolic, text_width
from skm_machine.drawing.machine_layout import MachineLayout, Route, lay_out
from skm_machine.drawing.machine_parts import DrawnMachine, MachineParts, whole_machine
from skm_machine.drawing.sketch import sketch_machine
from skm_machine.drawing.svg import svg_document
from skm_machine.logic.syntax import FALSE
from skm_machine.possible import Shown
from skm_machine.reward_machine import Edge, RewardMachine
from skm_machine.skill_machine import Skill

MAX_STATES: Final = 60
MAX_EDGES: Final = 200
"""Larger machines are sketched: small states, no labels."""

NAME_SIZE: Final = 13.0
SKILL_SIZE: Final = 10.0
LABEL_SIZE: Final = 11.5
LOOP_HEIGHT: Final = 28.0
STUB: Final = 26.0
"""The length of the arrow into the initial state."""


def draw_machine(
    machine: RewardMachine,
    skills: Mapping[int, Skill] | None = None,
    title: str = "",
    outlines: Mapping[int, str] | None = None,
    shown: Shown | None = None,
) -> str:
    """Return an SVG document that shows `machine`, with the skill of each state where given.

    `outlines` are colours of states, such as those that a picture of a run has them in. `shown` are the
    label sets that can show in each state: what cannot happen is left out. Machines of more than
    `MAX_STATES` states or `MAX_EDGES` edges are sketched without labels.
    """
    return svg_document(machine_canvas(machine, skills, outlines, shown), title)


def machine_canvas(
    machine: RewardMachine,
    skills: Mapping[int, Skill] | None = None,
    outlines: Mapping[int, str] | None = None,
    shown: Shown | None = None,
) -> Canvas:
    """Return the same as plain parts."""
    canvas = Canvas()
    parts = MachineParts(machine, shown or ())
    states = parts.reachable if shown else range(machine.num_states)
    outcomes = parts.outcomes if shown else machine.successors
    if len(states) > MAX_STATES or sum(map(len, map(outcomes, states))) > MAX_EDGES:
        sketch_machine(canvas, machine, skills or {}, outcomes)
    else:
        drawn = parts.whole() if shown else whole_machine(machine)
        draw_parts(canvas, drawn, skills or {}, outlines or {})
    return canvas


def draw_parts(
    canvas: Canvas,
    machine: DrawnMachine,
    skills: Mapping[int, Skill],
    outlines: Mapping[int, str] | None = None,
) -> None:
    """Draw parts of a machine on a canvas; skills and outlines go by the machine's own numbers."""
    _Picture(canvas, machine, skills, outlines or {}).draw()


@dataclass(frozen=True)
class _Label:
    """The text of an edge, broken into lines."""

    edge: Edge
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        return max(text_width(line, LABEL_SIZE) for line in self.lines) + 4

    @property
    def height(self) -> float:
        return len(self.lines) * LABEL_SIZE * LINE_HEIGHT


@dataclass(frozen=True)
class _Figure:
    """How a state looks: its outline, the lines about its skill, and its loops."""

    shape: Shape
    skill: tuple[tuple[str, str], ...]
    """Lines, each with the words before it that are set apart."""

    loops: list[_Label] = field(default_factory=list)

    def node(self) -> Node:
        width = max(2 * self.shape.half_width, sum(label.width + 8 for label in self.loops))
        over = max((LOOP_HEIGHT + label.height for label in self.loops), default=0.0)
        half = self.shape.half_height
        return Node(width, half + over, half, clearance=20.0, weight=6.0)


class _Picture:
    """One picture in the making."""

    def __init__(
        self,
        canvas: Canvas,
        machine: DrawnMachine,
        skills: Mapping[int, Skill],
        outlines: Mapping[int, str],
    ) -> None:
        self.canvas = canvas
        self.machine = machine
        self.outlines = outlines
        self.figures = [
            self._figure(state, skills.get(number)) for state, number in enumerate(machine.numbers)
        ]
        self.labels: dict[Route, _Label] = {}
        edges = [*machine.edges, *machine.promise_edges]
        for edge in sorted(edges, key=lambda edge: edge.target in machine.failure):
            label = _Label(edge, tuple(self._lines(edge)))
            if edge.source == edge.target:
                self.figures[edge.source].loops.append(label)
            else:
                node = Node(label.width, label.height + 5, 4.0)
                self.labels[Route(edge.source, edge.target, node)] = label
        nodes = [figure.node() for figure in self.figures]
        self.layout: MachineLayout = lay_out(
            nodes, list(self.labels), max(0, machine.initial), self._lane()
        )

    def draw(self) -> None:
        """Draw everything, lines first."""
        paths = Paths(self.layout, [figure.shape for figure in self.figures])
        rail = paths.rail()
        if rail:
            assert self.layout.lane is not None
            self.canvas.open("rail", {"target": self.machine.numbers[self.layout.lane]})
            self.canvas.add(Path(FAILED, rail, dashed=True, arrow=True))
        for route, label in self.labels.items():
            node = route.label
            self._edge(label, paths.of(route), (node.x, node.y - 5), arrow=not route.joins_rail)
        for state in range(self.machine.num_states):
            self._state(state)

    def _lines(self, edge: Edge) -> list[str]:
        lines = broken(edge.label)
        if edge.promise:
            lines[0] = f"promise: {lines[0]}"
        if edge.reward and edge.target not in self.machine.terminal:
            amount = "" if edge.reward == 1 else f"{edge.reward:g} "
            lines[0] = f"★ {amount}{lines[0]}"
        return lines

    def _figure(self, state: int, skill: Skill | None) -> _Figure:
        name_width = text_width(self.machine.names[state], NAME_SIZE, bold=True)
        if skill is None:
            radius = max(21.0, name_width / 2 + (6 if self._tone(state) is ACCEPTED else 4))
            return _Figure(Shape(radius, radius, round=True), ())
        lines = _skill_lines("reach", broken(skill.reach))
        if skill.avoid is not FALSE:
            lines += _skill_lines("keep off", broken(skill.avoid))
        widths = [text_width(f"{words} {text}", SKILL_SIZE) for words, text in lines]
        height = NAME_SIZE * LINE_HEIGHT + len(lines) * SKILL_SIZE * LINE_HEIGHT + 20
        shape = Shape((max(name_width, *widths) + 22) / 2, height / 2, round=False)
        return _Figure(shape, tuple(lines))

    def _tone(self, state: int) -> Tone:
        if state in self.machine.failure:
            return FAILED
        return ACCEPTED if state in self.machine.terminal else WORKING

    def _edge_tone(self, edge: Edge) -> Tone:
        if edge.target in self.machine.failure:
            return FAILED
        return ACCEPTED if edge.reward > 0 else WORKING

    def _lane(self) -> int | None:
        """Return the failure state that most states lead to, if several do and it has no way out."""
        sources: defaultdict[int, set[int]] = defaultdict(set)
        for route in self.labels:
            sources[route.target].add(route.source)
        leaving = {route.source for route in self.labels}
        ends = [u for u in self.machine.failure if u not in leaving and u != self.machine.initial]
        best = max(ends, key=lambda u: (len(sources[u]), -u), default=None)
        return best if best is not None and len(sources[best]) > 1 else None

    def _edge(
        self, label: _Label, path: Iterable[Piece], foot: tuple[float, float], *, arrow: bool
    ) -> None:
        """Draw an edge, with the foot of its label centred at a point."""
        edge, tone = label.edge, self._edge_tone(label.edge)
        names, numbers = self.machine.names, self.machine.numbers
        ends = {"source": numbers[edge.source], "target": numbers[edge.target]}
        what = f"{'promise: ' if edge.promise else ''}{symbolic(edge.label)}"
        self.canvas.open("edge", ends, f"{names[edge.source]} → {names[edge.target]}: {what}")
        dashed = tone is FAILED or edge.promise
        self.canvas.add(Path(tone, list(path), dashed=dashed, arrow=arrow))
        x, y = foot
        for index, line in enumerate(reversed(label.lines)):
            baseline = y - (index * LINE_HEIGHT + 0.25) * LABEL_SIZE
            self.canvas.add(Text(tone, x, baseline, line, LABEL_SIZE, halo=True))

    def _state(self, state: int) -> None:
        figure, node, tone = self.figures[state], self.layout.states[state], self._tone(state)
        number, hidden = self.machine.numbers[state], self.machine.hidden.get(state, 0)
        tone = replace(tone, outline=self.outlines.get(number, tone.outline))
        self._loops(figure, node)
        self.canvas.open("state", {"state": number, **({"hidden": hidden} if hidden else {})})
        shape = figure.shape
        if state == self.machine.initial:
            tip = node.x - shape.half_width
            self.canvas.add(Dot(WORKING, tip - STUB, node.y, 3.0))
            self.canvas.add(Path(WORKING, [((tip - STUB, node.y), (tip, node.y))], arrow=True))
        if shape.round:
            self.canvas.add(Circle(tone, node.x, node.y, shape.half_width))
            if self._tone(state) is ACCEPTED:
                self.canvas.add(Circle(tone, node.x, node.y, shape.half_width - 3.5))
        else:
            self.canvas.add(Card(tone, node.x, node.y, shape.half_width, shape.half_height))
        baseline = node.y + 0.36 * NAME_SIZE
        if figure.skill:
            baseline = node.y - shape.half_height + 8 + NAME_SIZE
        name = self.machine.names[state]
        self.canvas.add(Text(tone, node.x, baseline, name, NAME_SIZE, bold=True))
        baseline += 4
        for words, text in figure.skill:
            baseline += SKILL_SIZE * LINE_HEIGHT
            colours = FAILED if words == "keep off" else WORKING
            self.canvas.add(Text(colours, node.x, baseline, text, SKILL_SIZE, words=words))

    def _loops(self, figure: _Figure, node: Node) -> None:
        """Draw the edges from a state to itself side by side above it."""
        slots = sum(label.width + 8 for label in figure.loops)
        left, reach = -slots / 2, max(0.0, 0.8 * figure.shape.half_width - 14)
        for label in figure.loops:
            middle = left + (label.width + 8) / 2
            left += label.width + 8
            offset = max(-reach, min(reach, middle)) if len(figure.loops) > 1 else 0.0
            feet = [node.y - figure.shape.top(offset + side) for side in (-7, 7)]
            x, peak = node.x + offset, min(feet) - LOOP_HEIGHT
            ends = (x - 7, feet[0]), (x + 7, feet[1])
            piece = (ends[0], (x - 19, peak), (x + 19, peak), ends[1])
            self._edge(label, [piece], (node.x + middle, peak + 3), arrow=True)


def _skill_lines(words: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(words if index == 0 else "", line) for index, line in enumerate(lines)]
