"""Sketches of machines too large for labels: small states in columns, and thin lines between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, sqrt
from typing import Final

from skm_machine.drawing.canvas import ACCEPTED, FAILED, WORKING, Canvas, Circle, Path, Text, Tone
from skm_machine.drawing.layering import Node, order_columns, rank_states
from skm_machine.drawing.lettering import symbolic
from skm_machine.errors import SkmError
from skm_machine.logic.syntax import FALSE
from skm_machine.reward_machine import Outcome, RewardMachine
from skm_machine.skill_machine import Skill

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
            text += f", keep off {symbolic(skill.avoid)}"
    return text
