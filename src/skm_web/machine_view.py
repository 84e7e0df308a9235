"""The mission's machine for the page: its drawing, where it is, the way so far and the next move."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from skm_machine.drawing.canvas import Canvas
from skm_machine.drawing.lettering import symbolic
from skm_machine.drawing.machine_parts import MachineParts
from skm_machine.drawing.machine_picture import draw_parts
from skm_machine.drawing.sketch import sketch_machine
from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.possible import shown_everywhere
from skm_machine.reward_machine import RewardMachine
from skm_machine.skill_machine import Skill, plan_paper, plan_possible
from skm_web.machine_content import page_content

MOST_STATES: Final = 30
MOST_EDGES: Final = 110
"""Larger machines are folded; the page can ask for the whole."""
MOST_PLANNED: Final = 400
"""States of machines whose skills are shown in their pictures."""
MOST_SKETCHED: Final = 3000
"""States of machines that are sketched as a whole."""


class MachineView:
    """One mission's machine, in a world that shows some label sets only."""

    def __init__(
        self, mission: Mission, label_sets: Collection[frozenset[str]], gamma: float
    ) -> None:
        self.mission = mission
        self.machine: RewardMachine = mission.machine
        self._parts = MachineParts(self.machine, label_sets)
        self._skills: dict[int, Skill] = {}
        if self.machine.num_states <= MOST_PLANNED:
            shown = shown_everywhere(self.machine, label_sets) if label_sets else None
            planned = (
                plan_paper(self.machine, gamma)
                if shown is None
                else plan_possible(self.machine, shown, gamma, events=mission.events)
            )
            self._skills = planned.skills
        self.folded = self.machine.num_states > MOST_STATES and self._is_large()

    def _is_large(self) -> bool:
        if self.machine.num_states > MOST_SKETCHED:
            return True
        states = self._parts.reachable
        return len(states) > MOST_STATES or sum(map(len, map(self._parts.outcomes, states))) > (
            MOST_EDGES
        )

    def drawing(self, state: int, way: Sequence[int]) -> dict[str, Any]:
        """Return the picture: of the whole, or folded around the present state."""
        part = self._parts.whole() if not self.folded else self._parts.around(max(state, 0), way)
        canvas = Canvas()
        draw_parts(canvas, part, {} if self.folded else self._skills)
        return {
            **page_content(canvas),
            "folded": self.folded,
            "shown": part.num_states,
            "states": self.machine.num_states,
        }

    def sketch(self) -> dict[str, Any]:
        """Return the picture of the whole machine, however large, without labels."""
        if self.machine.num_states > MOST_SKETCHED:
            raise SkmError(f"a machine of {self.machine.num_states} states is too large to draw")
        canvas = Canvas()
        sketch_machine(canvas, self.machine, self._skills, self._parts.outcomes)
        states = self.machine.num_states
        return {**page_content(canvas), "folded": False, "shown": states, "states": states}

    def name(self, state: int) -> str:
        """Return the name of a state as in its picture."""
        names = self.machine.names
        return names[state] if 0 <= state < len(names) else str(state)

    def edge_text(self, source: int, labels: frozenset[str]) -> str:
        """Return the condition that a label set met in a state, in the paper's symbols."""
        outcome = self.machine.step(source, labels)
        return symbolic(self.machine.label(source, [outcome]))

    def kind(self, target: int, reward: float) -> str:
        """Return what a move means: success, failure, or just a step on the way."""
        if reward > 0:
            return "accepted"
        return "failed" if target in self.machine.failure else "moved"
