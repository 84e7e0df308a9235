"""Missions: from text to skill machine. No ROS, no learning, no robot: only logic and planning.

Names are imported when they are first used (`lazy_exports`): code that needs an error or the
version does not wait for the translators.
"""

from typing import TYPE_CHECKING

from skm_machine.lazy_exports import lazy_exports
from skm_machine.version import __version__

if TYPE_CHECKING:
    from skm_machine.analysis import analyse, judge
    from skm_machine.automata.dfa import Automaton, AutomatonEdge
    from skm_machine.automata.omega import OmegaAutomaton
    from skm_machine.errors import (
        MissionError,
        SkmError,
        UnachievableMissionError,
        UnsupportedMissionError,
    )
    from skm_machine.formats.export import to_dot, to_hoa
    from skm_machine.formats.hoa import read_hoa, read_hoa_omega
    from skm_machine.formats.reward_machine_file import read_reward_machine
    from skm_machine.logic.formula import Formula
    from skm_machine.logic.parser import parse
    from skm_machine.logic.plain_words import read_words, words_of
    from skm_machine.logic.semantics import holds
    from skm_machine.mission import Mission, compile_mission
    from skm_machine.possible import shown_everywhere
    from skm_machine.reward_machine import Edge, RewardMachine, from_automaton
    from skm_machine.skill_machine import Skill, SkillMachine, plan_paper, plan_possible
    from skm_machine.tracker import MissionTracker, Status, Transition
    from skm_machine.translators import accepts_lasso, translate, translate_omega

__getattr__ = lazy_exports(
    __name__,
    {
        "analysis": (
            "analyse",
            "judge",
        ),
        "automata.dfa": (
            "Automaton",
            "AutomatonEdge",
        ),
        "automata.omega": ("OmegaAutomaton",),
        "errors": (
            "MissionError",
            "SkmError",
            "UnachievableMissionError",
            "UnsupportedMissionError",
        ),
        "formats.export": (
            "to_dot",
            "to_hoa",
        ),
        "formats.hoa": (
            "read_hoa",
            "read_hoa_omega",
        ),
        "formats.reward_machine_file": ("read_reward_machine",),
        "logic.formula": ("Formula",),
        "logic.parser": ("parse",),
        "logic.plain_words": (
            "read_words",
            "words_of",
        ),
        "logic.semantics": ("holds",),
        "mission": (
            "Mission",
            "compile_mission",
        ),
        "possible": ("shown_everywhere",),
        "reward_machine": (
            "Edge",
            "RewardMachine",
            "from_automaton",
        ),
        "skill_machine": (
            "Skill",
            "SkillMachine",
            "plan_paper",
            "plan_possible",
        ),
        "tracker": (
            "MissionTracker",
            "Status",
            "Transition",
        ),
        "translators": (
            "accepts_lasso",
            "translate",
            "translate_omega",
        ),
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
