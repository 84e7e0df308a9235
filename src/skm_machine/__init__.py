"""Missions: from text to skill machine. No ROS, no learning, no robot: only logic and planning.

What is named here is imported when it is first asked for (`front_door`): whoever needs an error or the
version does not wait for the translators.
"""

from typing import TYPE_CHECKING

from skm_machine.front_door import front_door
from skm_machine.version import __version__

if TYPE_CHECKING:
    from skm_machine.analysis import analyse, judge
    from skm_machine.automata.automaton import Automaton, AutomatonEdge
    from skm_machine.automata.omega import OmegaAutomaton
    from skm_machine.errors import (
        MissionError,
        SkmError,
        UnachievableMissionError,
        UnsupportedMissionError,
    )
    from skm_machine.formats.export import to_dot, to_hoa
    from skm_machine.formats.hoa import read_hoa
    from skm_machine.formats.hoa_omega import read_hoa_omega
    from skm_machine.formats.rm_file import read_reward_machine
    from skm_machine.logic.parser import parse
    from skm_machine.logic.semantics import holds
    from skm_machine.logic.syntax import Formula
    from skm_machine.mission import Mission, compile_mission
    from skm_machine.possible import shown_everywhere
    from skm_machine.recent_transitions import Transition
    from skm_machine.reward_machine import Edge, RewardMachine, from_automaton
    from skm_machine.skill_machine import Skill, SkillMachine, plan_paper, plan_possible
    from skm_machine.tracker import MissionTracker, Status
    from skm_machine.translators import accepts_lasso, translate, translate_omega
    from skm_machine.words.reader import read_words
    from skm_machine.words.recognition import words_of

__getattr__ = front_door(
    __name__,
    {
        "analysis": ("analyse", "judge"),
        "automata.automaton": ("Automaton", "AutomatonEdge"),
        "automata.omega": ("OmegaAutomaton",),
        "errors": (
            "MissionError",
            "SkmError",
            "UnachievableMissionError",
            "UnsupportedMissionError",
        ),
        "formats.export": ("to_dot", "to_hoa"),
        "formats.hoa": ("read_hoa",),
        "formats.hoa_omega": ("read_hoa_omega",),
        "formats.rm_file": ("read_reward_machine",),
        "logic.parser": ("parse",),
        "logic.semantics": ("holds",),
        "logic.syntax": ("Formula",),
        "mission": ("Mission", "compile_mission"),
        "possible": ("shown_everywhere",),
        "recent_transitions": ("Transition",),
        "reward_machine": ("Edge", "RewardMachine", "from_automaton"),
        "skill_machine": ("Skill", "SkillMachine", "plan_paper", "plan_possible"),
        "tracker": ("MissionTracker", "Status"),
        "translators": ("accepts_lasso", "translate", "translate_omega"),
        "words.reader": ("read_words",),
        "words.recognition": ("words_of",),
    },
)

__all__ = [
    "Automaton",
    "AutomatonEdge",
    "Edge",
    "Formula",
    "Mission",
    "MissionError",
    "MissionTracker",
    "OmegaAutomaton",
    "RewardMachine",
    "Skill",
    "SkillMachine",
    "SkmError",
    "Status",
    "Transition",
    "UnachievableMissionError",
    "UnsupportedMissionError",
    "__version__",
    "accepts_lasso",
    "analyse",
    "compile_mission",
    "from_automaton",
    "holds",
    "judge",
    "parse",
    "plan_paper",
    "plan_possible",
    "read_hoa",
    "read_hoa_omega",
    "read_reward_machine",
    "read_words",
    "shown_everywhere",
    "to_dot",
    "to_hoa",
    "translate",
    "translate_omega",
    "words_of",
]


def __dir__() -> list[str]:
    return __all__
