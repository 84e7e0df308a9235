"""Pictures of machines as SVG: what of a machine is drawn, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Final

from skm_machine.drawing.canvas import (
    ACCEPTED,
    FAILED,
    LINE_HEIGHT,
    WORKING,
    Canvas,
    Card,
    Circle,
    Dot,
    Path,
    Text,
    Tone,
    broken,
    symbolic,
    text_width,
)
from skm_machine.drawing.layout import (
    MachineLayout,
    Node,
    Paths,
    Piece,
    Route,
    Shape,
    lay_out,
    order_columns,
    rank_states,
)
from skm_machine.drawing.svg import svg_document
from skm_machine.errors import SkmError
from skm_machine.factored import FactoredMachine
from skm_machine.logic.formula import FALSE
from skm_machine.possible import Shown, possible_label, possible_outcomes
from skm_machine.reward_machine import Edge, Outcome, RewardMachine
from skm_machine.skill_machine import Skill, optimal_values, transition_value

# What of a machine is drawn: all of it, what can happen in a world, or what is near to a state.
#
# In a world that shows some label sets only, edges that none of them takes are left out, and so
# are states that nothing leads to; labels say no more than what tells these label sets apart.
# Large machines are folded: the way so far, the present state with what can happen next, and the
# best way on.


MOST_BEFORE: Final = 4
MOST_NEXT: Final = 6
MOST_AHEAD: Final = 8
"""States that a folded picture shows: of the way so far, next, and of the best way on."""
GAMMA: Final = 0.9


@dataclass(frozen=True)
class DrawnMachine:
    """States and edges to draw; states are numbered from 0, in the order of the machine's."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """What each state is called in the machine."""
    initial: int
    """-1 if it is not shown."""
    terminal: frozenset[int]
    failure: frozenset[int]
    edges: tuple[Edge, ...]
    commitment_edges: tuple[Edge, ...] = ()
    hidden: dict[int, int] = field(default_factory=dict)
    """How many edges of a state lead to what is not shown."""

    @property
    def num_states(self) -> int:
        """How many are shown."""
        return len(self.names)


def whole_machine(machine: RewardMachine) -> DrawnMachine:
    """Return all of a machine."""
    return DrawnMachine(
        machine.names,
        tuple(range(machine.num_states)),
        machine.initial,
        machine.terminal,
        machine.failure,
        machine.edges,
        machine.commitment_edges,
    )


class MachineParts:
    """A machine in a world that shows some label sets only, or in any world."""

    def __init__(
        self, machine: RewardMachine, shown: Shown | Collection[frozenset[str]] = ()
    ) -> None:
        """`shown`: the label sets that can show, in each state or in all; (): any."""
        self.machine = machine
        self._shown = shown
        self._outcomes: dict[int, list[Outcome]] = {}

    def outcomes(self, state: int) -> list[Outcome]:
        """Return what can happen in a state; nothing where the mission has ended."""
        if state not in self._outcomes:
            machine = self.machine
            found: list[Outcome] = []
            if state not in machine.terminal and state not in machine.failure:
                found = (
                    possible_outcomes(machine, state, {state: self._sets(state)})
                    if self._shown
                    else machine.successors(state)
                )
            self._outcomes[state] = found
        return self._outcomes[state]

    def _sets(self, state: int) -> Collection[frozenset[str]]:
        """Return the label sets that can show in a state."""
        return self._shown.get(state, ()) if isinstance(self._shown, Mapping) else self._shown

    @cached_property
    def reachable(self) -> list[int]:
        """The states that anything leads to."""
        found = [self.machine.initial]
        known = set(found)
        for state in found:
            commitments = self.machine.commitments(state)
            if isinstance(self._shown, Mapping) and self._shown:
                commitments = tuple(
                    commitment for commitment in commitments if commitment in self._shown
                )
            ways = [*(o.target for o in self.outcomes(state)), *commitments]
            fresh = sorted(set(ways) - known)
            known.update(fresh)
            found += fresh
        return sorted(found)

    def whole(self) -> DrawnMachine:
        """Return all that can happen."""
        return self._part(self.reachable)

    def around(self, state: int, way: Sequence[int]) -> DrawnMachine:
        """Return what is near to a state, to which `way` led."""
        kept = {state, *list(dict.fromkeys(reversed(way)))[:MOST_BEFORE]}
        ranked = sorted(self.outcomes(state), key=lambda outcome: -self._worth(state, outcome))
        targets = [outcome.target for outcome in ranked if outcome.target != state]
        kept.update(list(dict.fromkeys(targets))[:MOST_NEXT])
        ahead = state
        for _ in range(MOST_AHEAD):
            ways = [outcome for outcome in self.outcomes(ahead) if outcome.target != ahead]
            if not ways:
                break
            ahead = max(ways, key=lambda outcome: self._worth(ahead, outcome)).target
            kept.add(ahead)
        kept.update(self.machine.commitments(state))
        return self._part(sorted(kept))

    @cached_property
    def _values(self) -> tuple[float, ...]:
        return optimal_values(self.machine, GAMMA)

    def _worth(self, state: int, outcome: Outcome) -> float:
        if isinstance(self.machine, FactoredMachine):
            return outcome.reward - len(self.machine.pending_clauses(outcome.target))
        return transition_value(self.machine, state, outcome, self._values, GAMMA)

    def _part(self, states: Sequence[int]) -> DrawnMachine:
        machine = self.machine
        number = {state: index for index, state in enumerate(states)}
        edges, hidden = [], {}
        for state in states:
            shown = [outcome for outcome in self.outcomes(state) if outcome.target in number]
            left_out = len(self.outcomes(state)) - len(shown)
            if left_out:
                hidden[number[state]] = left_out
            for outcome in shown:
                label = (
                    possible_label(machine, state, [outcome], self._sets(state))
                    if self._shown
                    else machine.label(state, [outcome])
                )
                edges.append(Edge(number[state], number[outcome.target], label, outcome.reward))
        return DrawnMachine(
            tuple(machine.names[state] for state in states),
            tuple(states),
            number.get(machine.initial, -1),
            frozenset(number[state] for state in states if state in machine.terminal),
            frozenset(number[state] for state in states if state in machine.failure),
            tuple(edges),
            tuple(
                Edge(number[edge.source], number[edge.target], edge.label, 0.0, commitment=True)
                for edge in machine.commitment_edges
                if edge.source in number and edge.target in number
            ),
            hidden,
        )


# Sketches of machines too large for labels: small states in columns, and thin lines between them.


RADIUS: Final = 9.0
MAX_TOOLTIPS: Final = 1000
"""With more edges than this, labels are not even computed to be shown on hovering."""

MAX_LINKS: Final = 30_000
"""Machines with more edges than this are not drawn."""

PITCH: Final = 26.0
COLUMN: Final = 170.0
CLOSE_COLUMN: Final = 90.0
THIN: Final = 4.0
"""Pictures that are more than so many times as wide as high are broken into lines, as text is."""
LINE_SHAPE: Final = 1.6
"""Width by height of a picture that is."""


def sketch_machine(
    canvas: Canvas,
    machine: RewardMachine,
    skills: Mapping[int, Skill],
    successors: Callable[[int], Iterable[Outcome]],
) -> None:
    """Draw every state and edge of a large machine on a canvas; labels show on hovering.

    `successors` are what can happen in a state: where that is not all, states without are left out.
    """
    links: list[tuple[int, Outcome]] = []
    for state in range(machine.num_states):
        if state not in machine.terminal:
            links += ((state, outcome) for outcome in successors(state))
        if len(links) > MAX_LINKS:
            raise SkmError(f"a machine of more than {MAX_LINKS} edges is too large to draw")
    nodes = _place(machine, [(source, outcome.target) for source, outcome in links])
    linked = {machine.initial, *(end for state, o in links for end in (state, o.target))}
    opacity = max(0.15, min(0.6, 10 / sqrt(max(1, len(links)))))
    for source, outcome in links:
        target = outcome.target
        tooltip = ""
        if len(links) <= MAX_TOOLTIPS:
            label = symbolic(machine.label(source, [outcome]))
            tooltip = f"{machine.names[source]} → {machine.names[target]}: {label}"
        canvas.open("edge", {"source": source, "target": target}, tooltip)
        rewarded = ACCEPTED if outcome.reward > 0 else WORKING
        tone = FAILED if target in machine.failure else rewarded
        piece = _curve(nodes[source], nodes[target])
        canvas.add(Path(tone, [piece], dashed=tone is FAILED, width=0.5, opacity=opacity))
    for state, node in enumerate(nodes):
        if state not in linked:
            continue
        canvas.open("state", {"state": state}, _description(machine, state, skills.get(state)))
        tone = _tone(machine, state)
        if state == machine.initial:
            stub = (node.x - 30, node.y), (node.x - RADIUS, node.y)
            canvas.add(Path(WORKING, [stub], arrow=True))
        canvas.add(Circle(tone, node.x, node.y, RADIUS, width=1.0))
        if tone is ACCEPTED:
            canvas.add(Circle(tone, node.x, node.y, RADIUS - 2, width=0.7))
        name = machine.names[state]
        if tone is WORKING:
            canvas.add(Text(tone, node.x, node.y + 2.2, name, 6.0))
        else:
            beside = node.x + RADIUS + 4
            canvas.add(Text(tone, beside, node.y + 3, name, 9.0, bold=True, anchor="start"))


def _place(machine: RewardMachine, links: list[tuple[int, int]]) -> list[Node]:
    """Place the states by rank, and within a rank near their neighbours."""
    ranks, _ = rank_states(machine.num_states, machine.initial, links)
    nodes = [Node(0.0, RADIUS, RADIUS, column=rank) for rank in ranks]
    columns: list[list[Node]] = [[] for _ in range(max(ranks) + 1)]
    for node in nodes:
        columns[node.column].append(node)
    for source, target in links:
        if ranks[target] == ranks[source] + 1:
            nodes[source].right.append(nodes[target])
            nodes[target].left.append(nodes[source])
    order_columns(columns)
    across, down, in_line = COLUMN, max(map(len, columns)) * PITCH, len(columns)
    if len(columns) * COLUMN > THIN * down:
        across, down = CLOSE_COLUMN, down + 2 * PITCH
        in_line = ceil(sqrt(LINE_SHAPE * len(columns) * down / across))
    for index, column in enumerate(columns):
        line, place_in_line = divmod(index, in_line)
        for place, node in enumerate(column):
            node.x = place_in_line * across
            node.y = line * down + (place - (len(column) - 1) / 2) * PITCH
    return nodes


def _curve(source: Node, target: Node) -> tuple[tuple[float, float], ...]:
    if source is target:
        x, y = source.x, source.y - RADIUS
        return (x - 3, y), (x - 9, y - 11), (x + 9, y - 11), (x + 3, y)
    side = 1 if target.column > source.column else -1
    start, end = source.x + side * RADIUS, target.x - side * RADIUS
    ahead = (end - start) * side  # less than nothing where the line breaks in between
    bend = (0.45 * max(ahead, 60) if ahead > 0 else 60) * side
    return (start, source.y), (start + bend, source.y), (end - bend, target.y), (end, target.y)


def _tone(machine: RewardMachine, state: int) -> Tone:
    if state in machine.failure:
        return FAILED
    return ACCEPTED if state in machine.terminal else WORKING


def _description(machine: RewardMachine, state: int, skill: Skill | None) -> str:
    text = machine.names[state]
    if skill is not None:
        text += f": reach {symbolic(skill.reach)}"
        if skill.avoid is not FALSE:
            text += f", avoid {symbolic(skill.avoid)}"
    return text


# Pictures of machines: an SVG document with the states, their skills, and the edges between them.
#
# The accepted state is a green double circle, failure states and the edges to them are red and
# dashed, rewarded edges are green, with a star where the mission goes on. Everything is
# deterministic and needs nothing but the standard library.


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
        edges = [*machine.edges, *machine.commitment_edges]
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
        if edge.commitment:
            lines[0] = f"commitment: {lines[0]}"
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
            lines += _skill_lines("avoid", broken(skill.avoid))
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
        what = f"{'commitment: ' if edge.commitment else ''}{symbolic(edge.label)}"
        self.canvas.open("edge", ends, f"{names[edge.source]} → {names[edge.target]}: {what}")
        dashed = tone is FAILED or edge.commitment
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
            colours = FAILED if words == "avoid" else WORKING
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
