"""What the page shows, from messages live or recorded: world, machine, why this action, log."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any, Final

from skm_machine.drawing.canvas import Canvas, Card, Circle, Dot, Part, Path, Text, symbolic
from skm_machine.drawing.machine import MachineParts, draw_parts, sketch_machine
from skm_machine.errors import SkmError
from skm_machine.mission import Mission
from skm_machine.possible import shown_everywhere
from skm_machine.reward_machine import RewardMachine
from skm_machine.skill_machine import Skill, plan_paper, plan_possible
from skm_machine.tracker import Transition
from skm_primitives.execution.german import in_german
from skm_primitives.execution.narration import (
    Approach,
    Ending,
    Narrator,
    Situation,
    Standing,
    steps_away,
)
from skm_primitives.execution.phrases import LANGUAGES
from skm_primitives.recording.cdr import (
    ADD,
    BEGAN,
    DELETE_ALL,
    ENDED,
    LEVELS,
    OUTCOMES,
    PHASES,
    SHAPES,
    word,
)
from skm_primitives.recording.pictures import png
from skm_primitives.skills.values import Skills, hold_of
from skm_sim.registry import get_domain
from skm_sim.scene import ROBOT_NAME, WAY
from skm_web.hub import Hub
from skm_web.mission_check import MissionContext, offered

# A machine's picture as plain data: the page makes its elements, and no text becomes markup.


def page_content(canvas: Canvas) -> dict[str, Any]:
    """Return the groups, and the box around them: left, top, width, height.

    A part is a list: its kind, its tone, and its measures. Colours are left to the page, which is light
    or dark: a tone is `working`, `accepted` or `failed`.
    """
    groups = []
    for group in canvas.groups:
        tooltip = {"tooltip": group.tooltip} if group.tooltip else {}
        parts = [[_rounded(item) for item in _listed(part)] for part in group.parts]
        groups.append({"kind": group.kind, **group.data, **tooltip, "parts": parts})
    return {"box": [_rounded(number) for number in canvas.box], "groups": groups}


def _listed(part: Part) -> tuple[Any, ...]:
    match part:
        case Path(tone, pieces, dashed, arrow, width, opacity):
            line = [[_rounded(n) for point in piece for n in point] for piece in pieces]
            return "path", tone.name, line, dashed, arrow, width, opacity
        case Circle(tone, x, y, radius, width):
            return "circle", tone.name, x, y, radius, width
        case Dot(tone, x, y, radius):
            return "dot", tone.name, x, y, radius
        case Card(tone, x, y, half_width, half_height):
            return "card", tone.name, x, y, half_width, half_height
        case Text(tone, x, y, text, size, words, bold, halo, anchor):
            return "text", tone.name, x, y, text, size, words, bold, halo, anchor


def _rounded(item: object) -> object:
    return round(item, 1) if isinstance(item, float) else item


# The mission's machine for the page: its drawing, where it is, the way so far and the next move.


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
        self._parts = MachineParts(self.machine, mission.read_sets(label_sets))
        self._skills: dict[int, Skill] = {}
        if self.machine.num_states <= MOST_PLANNED and not mission.in_parts:
            planning = mission.planned.machine
            shown = shown_everywhere(planning, label_sets) if label_sets else None
            planned = (
                plan_paper(planning, gamma)
                if shown is None
                else plan_possible(planning, shown, gamma, events=mission.events)
            )
            self._skills = planned.skills
        self.folded = self.machine.num_states > MOST_STATES and self._is_large()

    def _is_large(self) -> bool:
        if self.machine.num_states > MOST_SKETCHED or self.mission.in_parts:
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
        if self.machine.num_states > MOST_SKETCHED or self.mission.in_parts:
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


# Why this action, for the page: what the machine weighed, from the message that says so.


def why_document(decision: Any, gamma: float, hold: int = 1) -> dict[str, Any]:  # noqa: ANN401 - a Decision
    """Return the goals in play, the dangers and the shield's veto."""
    return {
        "goal": bytes(decision.goal_id.uuid).hex(),
        "step": int(decision.mission_steps),
        "state": int(decision.state),
        "target": decision.target,
        "goals": [_goal(goal, gamma, hold) for goal in decision.goals],
        "others": int(decision.other_goals),
        "avoid": decision.avoid,
        "dangers": [_goal(goal, gamma, hold) for goal in decision.dangers],
        "waiting": bool(decision.waiting),
        "veto": decision.veto,
        "vetoes": int(decision.vetoes),
        "lost_actions": [int(action) for action in decision.lost_actions],
    }


def _goal(entry: Any, gamma: float, hold: int) -> dict[str, Any]:  # noqa: ANN401 - a GoalInPlay
    value, weight = float(entry.value), float(entry.weight)
    return {
        "labels": list(entry.goal.labels),
        "place": int(entry.goal.place),
        "value": round(value, 4),
        "weight": round(weight, 4),
        "worth": round(value * weight, 4),
        "steps": steps_away(value, gamma, hold),
        "leads_to": int(entry.leads_to),
        "pursued": bool(entry.pursued),
    }


# The world for the page: its shapes, the robot, the path so far, and where it is going.


LEAST_WAY: Final = 1e-3
"""Metres by which the robot must have moved to be in another place."""
UNSEEN_SECONDS: Final = 0.3
"""In real time, where more than the steps of so long, and than one, lie between two pictures of the
world, a path has a gap: no way is shown that nobody has seen, such as one through a wall."""
MOST_SHAPES: Final = 3000
MOST_AVOIDED: Final = 200
"""Things that are marked as avoided."""


class WorldView:
    """Puts `scene`, `robot`, `way`, `going`, `avoided` and the stream `path` into a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._shapes: dict[tuple[str, int], Any] = {}
        self._place: tuple[float, float] | None = None
        self._wanted: frozenset[str] = frozenset()
        self._unwanted: frozenset[str] = frozenset()
        self._avoided: frozenset[str] = frozenset()

    def on_markers(self, message: Any) -> None:  # noqa: ANN401 - a MarkerArray, or one that was recorded
        """Take the world as it is now."""
        for marker in message.markers:
            if marker.action == DELETE_ALL:
                self._shapes.clear()
            # Markers come from any node: without a limit one that numbers them wrongly fills the
            # page.
            elif marker.action == ADD and marker.type in SHAPES and len(self._shapes) < MOST_SHAPES:
                self._shapes[marker.ns, marker.id] = _shape(marker)
            else:
                self._shapes.pop((marker.ns, marker.id), None)
        robot = [shape for shape in self._shapes.values() if shape["group"] == "robot"]
        names = [shape for shape in self._shapes.values() if shape["group"] == ROBOT_NAME]
        others = ("robot", ROBOT_NAME, WAY)
        objects = [s for s in self._shapes.values() if s["group"] not in others]
        numbered = sorted(number for group, number in self._shapes if group == WAY)
        way = [self._shapes[WAY, number] for number in numbered]
        self._hub.put("scene", {"shapes": objects})
        self._hub.put("way", [[dot["x"], dot["y"]] for dot in way])
        self._hub.put("robot", {"shapes": [*robot, *names]})
        self._place = None
        if robot and len(names) < 2:  # of several robots none is the one whose path is shown
            self._place = robot[0]["x"], robot[0]["y"]
        self._show_destinations()

    @property
    def place(self) -> tuple[float, float] | None:
        """Where the robot is."""
        return self._place

    def on_wanted(self, labels: Collection[str], propositions: Collection[str]) -> None:
        """Take the labels of the goal in pursuit, of all propositions."""
        self._wanted = frozenset(labels)
        self._unwanted = frozenset(propositions) - self._wanted
        self._show_destinations()

    def _show_destinations(self) -> None:
        """Put the objects that the goal in pursuit is about, nearest first."""
        # An object that also shows what is not wanted does not achieve the goal, whose labels are
        # exact.
        others = {(s["x"], s["y"]) for s in self._shapes.values() if s["group"] in self._unwanted}
        found = [s for s in self._shapes.values() if self._is_wanted(s)]
        found = [s for s in found if (s["x"], s["y"]) not in others]
        if self._place is not None:
            x, y = self._place
            found.sort(key=lambda shape: math.hypot(shape["x"] - x, shape["y"] - y))
        self._hub.put("going", {"labels": sorted(self._wanted), "places": _outlines(found[:50])})
        avoided = self._things_named(self._avoided)[:MOST_AVOIDED] if self._avoided else []
        self._hub.put("avoided", _outlines(avoided))

    def on_avoided(self, names: Collection[str]) -> None:
        """Take the propositions that would fail the mission now."""
        if self._avoided != frozenset(names):
            self._avoided = frozenset(names)
            self._show_destinations()

    def _things_named(self, names: frozenset[str]) -> list[dict[str, Any]]:
        """Return the things that show one of these propositions, whatever else they show."""
        things = [s for s in self._shapes.values() if s["kind"] != "text"]
        things = [s for s in things if s["group"] not in ("robot", WAY)]
        return [s for s in things if names & {s["group"], *s["group"].split()}]

    def _is_wanted(self, shape: dict[str, Any]) -> bool:
        """Whether an object shows what is wanted: a group's name has one proposition or several."""
        if not self._wanted or shape["kind"] == "text" or shape["group"] in ("robot", WAY):
            return False
        words = frozenset(shape["group"].split())
        named = {shape["group"]} & self._wanted or (words if words <= self._wanted else set())
        # Of {button, cylinder}, the object that shows both is the cylinder: the rarer name.
        return bool(named) and self._rarest() in named | words

    def _rarest(self) -> str:
        """Return the wanted proposition that the fewest objects are named by."""
        counts = dict.fromkeys(sorted(self._wanted), 0)
        for shape in self._shapes.values():
            for name in {shape["group"], *shape["group"].split()} & counts.keys():
                counts[name] += 1
        shown = {name: count for name, count in counts.items() if count}
        return min(shown, key=lambda name: shown[name], default="")


def _outlines(shapes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    outline = ("kind", "x", "y", "width", "height", "heading")
    return [{name: shape[name] for name in outline} for shape in shapes]


def robot_place(message: Any) -> tuple[float, float] | None:  # noqa: ANN401 - a MarkerArray
    """Return where the robot is; None if no marker shows it, or several robots are shown."""
    if sum(marker.ns == ROBOT_NAME for marker in message.markers) > 1:
        return None
    for marker in message.markers:
        if marker.ns == "robot" and marker.action == ADD:
            return float(marker.pose.position.x), float(marker.pose.position.y)
    return None


def _shape(marker: Any) -> dict[str, Any]:  # noqa: ANN401 - a Marker
    position, size, colour = marker.pose.position, marker.scale, marker.color
    turned = marker.pose.orientation
    heading = math.atan2(
        2 * (turned.w * turned.z + turned.x * turned.y), 1 - 2 * (turned.y**2 + turned.z**2)
    )
    return {
        "group": marker.ns,
        "kind": SHAPES[marker.type],
        "x": _number(position.x),
        "y": _number(position.y),
        "top": _number(position.z + size.z / 2),
        "width": _number(size.x),
        "height": _number(size.y),
        "letter": _number(size.z),
        "heading": _number(heading),
        "colour": [_number(part) for part in (colour.r, colour.g, colour.b, colour.a)],
        "text": marker.text,
    }


def _number(value: float) -> float:
    return round(float(value), 4) if math.isfinite(value) else 0.0


# A run as the page shows it, from messages: live ones, or those of a recording.
#
# Messages are read by the names of their fields only, so that no ROS is needed to show a
# recording. What takes time, such as a mission's machine and its layout, is worked out in a
# thread of its own: the newest wins, and nobody waits.


MOST_EVENT_SETS: Final = 64
"""Label sets are multiplied by what events may be true beside them, up to so many times."""

SAID_IN_WORDS: Final = re.compile(
    r"the mission is accomplished.*|the mission cannot be satisfied any more: [^;]*(; )?"
    r"|a newer mission took its place|the client took the mission back"
)
"""What reasons say of an end that the words about it say, too."""
RESUME: Final = "`skm resume`"
ON_PAGE: Final = f"Resume mission, or {RESUME},"
"""Reasons name the command that goes on; a page has a button for it."""
FEW_STEPS: Final = 3
"""Steps that say how long the next ones take."""
MOST_WAY: Final = 200
"""States of the way so far that are shown."""


class Pace:
    """Recent duration of a mission's steps in real time: a robot on a map takes its time."""

    def __init__(self) -> None:
        self._last: tuple[str, int, float] = "", 0, 0.0
        self._seconds: deque[float] = deque(maxlen=40)

    def note(self, goal: str, steps: int, at: float) -> None:
        """Take how many steps a mission had made at a moment."""
        before, self._last = self._last, (goal, steps, at)
        made = steps - before[1]
        # Another mission, a restart, or a recording that was wound back: what was measured is void.
        if goal != before[0] or made < 0 or at < before[2]:
            self._seconds.clear()
        # The same state again. The time counts from when its step was first seen.
        elif made == 0:
            self._last = before
        elif at > before[2]:
            self._seconds.append((at - before[2]) / made)

    @property
    def seconds(self) -> float:
        """The seconds of a step as a rule; 0 before a few were seen."""
        return round(median(self._seconds), 2) if len(self._seconds) >= FEW_STEPS else 0.0


class RunView:
    """Keeps the hub's documents up to date; every method is called from one thread."""

    def __init__(self, hub: Hub, *, live: bool = False) -> None:
        """`live`: messages come as the robot goes, and some may be missed."""
        self.hub = hub
        """Where the pages get their messages from."""
        self._live = live
        self.world = WorldView(hub)
        """What the page shows of the world."""
        self.context = MissionContext()
        """What the page shows of the mission."""
        self._gamma, self._hold = 0.9, 1
        self._goal_labels: list[list[str]] = []
        self._lock = threading.Lock()
        self._machine: MachineView | None = None
        self._mission_key: tuple[Any, ...] = ()
        self._drawn: tuple[Any, ...] = ()
        self._way: list[int] = []
        self._state = -1
        self._next: tuple[int, int] | None = None
        self._path_of: tuple[Any, ...] = ()
        self._step = self._marked_step = 0
        self._last_place: tuple[float, float] | None = None
        self._logged: dict[str, int] = {}
        """The latest entry of each mission's log."""
        self._log_number = 0
        self._narrator: tuple[str, Narrator] | None = None
        """The one who tells the mission of this id."""
        self._pace = Pace()
        self._situation: dict[str, Any] = {}
        self._pursued: tuple[str, dict[str, Any]] = "", {}
        """The last situation of a mission in which a goal was in pursuit."""
        self._told: tuple[Narrator | None, Situation | Ending | None, dict[str, str]]
        self._told = None, None, {}
        """What was said last: by whom, of what, and the words."""
        self._nearest: tuple[int, int | None] = -1, None
        """The machine state in which the nearest danger was last reported, and how far it was."""
        self._approach = Approach()
        self._standing: tuple[str, Standing] = "", Standing()
        """Of the mission of this id."""
        self._learned: tuple[str, ...] | None = None
        """What the skills have learned to avoid, where they are all that is known of the world."""
        self._moves: list[Transition] = []
        self._ending: Ending | None = None
        # One worker: log lines are completed in order, and after the machine that explains them.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="machine")

    def close(self) -> None:
        """Let the worker go."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def restart(self) -> None:
        """Forget the path and the log: a recording is played from elsewhere."""
        self.hub.restart("path")
        self._logged.clear()
        # Lines that still wait in the worker belong to the old place of the recording, and are
        # dropped.
        self._log_number += 1
        self._worker.submit(self.hub.restart, "log")
        self._way, self._state, self._next = [], -1, None
        self._path_of, self._last_place = (), None
        self._moves, self._ending = [], None
        self._standing = "", Standing()

    def stood(self, goal_id: str, stops: Iterable[tuple[float, str]]) -> None:
        """Take when and why the robot was stopped before this moment of a recording; empty: it moved."""
        self._standing = goal_id, Standing()
        for at, reason in stops:
            self._standing[1].note(reason, at)

    # The world

    def on_primitives(self, info: Any, skills: Skills | None = None) -> None:  # noqa: ANN401
        """Take what is known of the world and the skills."""
        self._gamma, self._hold = float(info.gamma), _held_for(str(info.domain), skills)
        self._goal_labels = [list(goal.labels) for goal in info.goals]
        known = len(info.place_labels) or len(getattr(info, "state_successors", ()))
        self._learned = None if known else tuple(info.constraints)
        propositions, constraints = tuple(info.propositions), tuple(info.constraints)
        shown = {frozenset(labels) for labels in self._goal_labels}
        shown |= {frozenset(entry.labels) for entry in info.place_labels}
        self.context = MissionContext(
            propositions, self.context.events, tuple(shown | {frozenset()}), None, skills
        )
        self.hub.put(
            "domain",
            {
                "domain": info.domain,
                "checkpoint": info.checkpoint,
                "digest": info.digest,
                "propositions": list(propositions),
                "constraints": list(constraints),
                "patterns": offered(propositions, constraints),
                "learned": self._learned is not None,
            },
        )

    def on_markers(self, message: Any) -> None:  # noqa: ANN401 - a MarkerArray
        """Take the world's shapes, and the robot's place for the path."""
        self.world.on_markers(message)
        place, period = self.world.place, self.context.step_seconds
        missed = False
        # Live, markers may be dropped on a slow connection; a straight line would then cross walls.
        if self._live and period:  # a recording holds every place
            missed = self._step - self._marked_step > max(1, int(UNSEEN_SECONDS / period))
        self._marked_step = self._step
        if place is not None:
            self.on_place(place, missed)

    def on_place(self, place: tuple[float, float], missed: bool = False) -> None:
        """Take a place of the robot's path; `missed`: where it was before is not known."""
        last = self._last_place
        if last is not None and max(abs(a - b) for a, b in zip(last, place, strict=True)) < (
            LEAST_WAY
        ):
            return
        self._last_place = place
        # The page draws no line to a place with this mark.
        gap = [1] if missed and last is not None else []
        self.hub.append("path", [[round(place[0], 3), round(place[1], 3), self._state, *gap]])

    def on_observation(self, message: Any) -> None:  # noqa: ANN401 - an Observation
        """Take where the world is; a new episode has a new path."""
        episode = int(message.session), int(message.episode)
        if episode != self._path_of:
            if self._path_of:
                self.hub.restart("path")
                self._last_place = None
            self._path_of = episode
        self._step = int(message.step)
        period = float(message.period)
        seconds = period or None
        if seconds != self.context.step_seconds:
            self.context = replace(self.context, step_seconds=seconds)
        self.hub.put(
            "world",
            {
                "episode": episode[1],
                "step": int(message.step),
                "rate": round(1 / period, 2) if period else 0,
                "stopped": message.stopped,
                "stopped_de": in_german(message.stopped),
                "ended": bool(message.terminated or message.truncated),
            },
        )

    def on_labels(self, message: Any) -> None:  # noqa: ANN401 - a Labels
        """Take what is true now."""
        true = [name for name, holds in zip(message.names, message.values, strict=False) if holds]
        self.hub.put("labels", true)

    def on_image(self, message: Any) -> None:  # noqa: ANN401 - an Image, or a CompressedImage
        """Take a picture of the world: pixels, or the PNG file that a recording has."""
        is_file = getattr(message, "format", "") == "png"
        picture = bytes(message.data) if is_file else png(message)
        if picture is not None:
            self.hub.put_image(picture)

    # The mission

    def on_machine_state(self, state: Any, heard: float | None = None) -> None:  # noqa: ANN401
        """Take where the machine is; `heard`: when, in seconds since 1970, if that is not now."""
        goal_id = bytes(state.goal_id.uuid).hex()
        known = self._mission_key[:1] == (goal_id,)
        # The log says more (format, horizon), but may come later, or be missing in old recordings.
        if state.mission and not known and int(state.states):
            self._take_mission((goal_id, state.mission, "auto", "auto", False, None, ()))
        self._on_events(state)
        stamp = state.header.stamp
        at = stamp.sec + stamp.nanosec / 1e9
        self._pace.note(goal_id, int(state.mission_steps), at)
        if self._standing[0] != goal_id:
            self._standing = goal_id, Standing()
        # By the clock on the wall, as the machine itself: that of a simulator may be slow.
        stopped = word(PHASES, int(state.phase)) == "stopped"
        self._standing[1].note(state.reason if stopped else "", heard or time.time())
        self._state = int(state.state)
        if self._state >= 0 and known and (not self._way or self._way[-1] != self._state):
            self._way.append(self._state)
        wanted = list(state.goal.labels) if int(state.goal_index) >= 0 else []
        active = word(PHASES, int(state.phase)) in ("running", "stopped")
        self.world.on_wanted(wanted if active else (), self.context.propositions or ())
        # The words say it better, and in every language.
        reason = str(state.reason) if not state.outcome else SAID_IN_WORDS.sub("", state.reason)
        self.hub.put(
            "mission",
            {
                "goal": goal_id,
                "text": state.mission,
                "phase": word(PHASES, int(state.phase)),
                "waiting_for": state.waiting_for,
                "outcome": word(OUTCOMES, int(state.outcome)) if state.outcome else "",
                "reason": reason.replace(RESUME, ON_PAGE),
                "reason_de": in_german(reason),
                "planner": state.planner,
                "state": self._state,
                "states": int(state.states),
                "target": state.target,
                "constraints": list(state.active_constraints),
                "violated": list(state.violated_constraints),
                "wanted": wanted,
                "value": round(float(state.goal_value), 4),
                "steps": int(state.mission_steps),
                "rounds": int(state.accepted),
            },
        )
        self._situation = {
            "goal_id": goal_id,
            "state": self._state,
            "goal": frozenset(wanted) if wanted else None,
            # Older recordings have the value alone.
            "steps": (
                getattr(state, "goal_steps", 0)
                or steps_away(state.goal_value, self._gamma, self._hold)
            )
            if wanted
            else None,
            "events": frozenset(getattr(state, "true_events", ())),
            "rounds": int(state.accepted),
        }
        overdue, now = self._approach.overdue, self._situation
        of = goal_id, self._state, now["rounds"]
        now["overdue"] = overdue(now["steps"], int(state.mission_steps), *of)
        if not active:
            now["state"] = -1
        elif now["goal"] is not None:
            self._pursued = goal_id, now
        self._tell()
        self._show_position()

    def _tell(self) -> None:
        """Say in words where the mission is, or how it ended, in every language."""
        narrator, now = self._narrator, dict(self._situation)
        if narrator is None or now.pop("goal_id", "") != narrator[0]:
            self.hub.put("words", {})
            self.world.on_avoided(())
            return
        self.world.on_avoided(narrator[1].avoided(now["state"], now["events"]))
        about: Situation | Ending | None = self._ending
        if about is None and now["state"] >= 0:
            about = Situation(
                **now,
                step_seconds=self._pace.seconds if self.context.step_seconds else 0.0,
                nearest=self._nearest[1] if self._nearest[0] == now["state"] else None,
                waiting=bool((self.hub.value("why") or {}).get("waiting")),
            )
        if (narrator[1], about) != self._told[:2]:
            told = {} if about is None else {n: _said(narrator[1], about, n) for n in LANGUAGES}
            self._told = narrator[1], about, told
        self.hub.put("words", self._told[2])

    def _on_events(self, state: Any) -> None:  # noqa: ANN401 - a MachineState
        """Take which events there are, and which are true; older recordings do not say."""
        events = tuple(getattr(state, "events", ()))
        if events != self.context.events:
            self.context = replace(self.context, events=events)
        true = set(getattr(state, "true_events", ()))
        self.hub.put("events", [{"name": name, "true": name in true} for name in events])

    def on_mission_log(self, entry: Any, at: float) -> None:  # noqa: ANN401 - a MissionLog
        """Take an entry of the mission's log: what was asked for, a move of the machine, the end."""
        goal_id = bytes(entry.goal_id.uuid).hex()
        # The log is latched: on reconnection all of it comes once more.
        if int(entry.number) <= self._logged.get(goal_id, -1):
            return
        self._logged[goal_id] = int(entry.number)
        seconds = float(entry.step_seconds) or None
        events = tuple(entry.events)
        options = entry.format or "auto", entry.horizon or "auto", bool(entry.repeat)
        self._take_mission((goal_id, entry.mission, *options, seconds, events))
        at = round(at, 2)
        if entry.kind == BEGAN:
            self._moves, self._ending = [], None
            self._way = [int(entry.state)]
            self._log({"at": at, "kind": "began", "step": 0, "text": entry.mission})
        for move in entry.transitions:
            self._way.append(int(move.to_state))
            self._log_move(move, at, int(entry.accepted))
        del self._way[:-MOST_WAY]
        if entry.kind == ENDED:
            outcome = word(OUTCOMES, int(entry.outcome))
            text = f"{outcome}: {entry.reason}" if entry.reason else outcome
            step = int(entry.mission_steps)
            last = self._pursued[1] if self._pursued[0] == goal_id else None
            standing = self._standing[1] if self._standing[0] == goal_id else Standing()
            self._ending = Ending(
                outcome=outcome,
                steps=step,
                seconds=float(entry.seconds),
                moves=tuple(self._moves),
                rounds=int(entry.accepted),
                shielded=bool(entry.shield),
                began=int(entry.state) >= 0,
                nearest=self._nearest[1],
                pursued=(last["state"], last["goal"]) if last else None,
                left=last["steps"] if last else None,
                overdue=last["overdue"] if last else 0,
                stood=standing.told(at),
            )
            line = {"at": at, "kind": "ended", "step": step, "text": text}
            self._log_ending(goal_id, self._ending, line)
        self._show_position()

    def _log_ending(self, goal_id: str, ending: Ending, line: dict[str, Any]) -> None:
        def complete() -> None:
            if self._narrator is not None and self._narrator[0] == goal_id:
                narrator = self._narrator[1]
                line["words"] = {name: narrator.ended(ending, name) for name in LANGUAGES}
            self._tell()

        self._log(line, complete)

    def _log_move(self, move: Any, at: float, rounds: int) -> None:  # noqa: ANN401 - a Transition
        labels = frozenset(move.labels)
        source, target = int(move.from_state), int(move.to_state)
        moved = Transition(int(move.step), source, target, labels, float(move.reward))
        self._moves.append(moved)
        # A patrol goes on for days.
        del self._moves[:-MOST_WAY]
        line: dict[str, Any] = {
            "at": at,
            "kind": "accepted" if move.reward > 0 else "moved",
            "step": int(move.step),
            "from": source,
            "to": target,
            "labels": sorted(labels),
        }

        def complete() -> None:
            machine = self._machine
            if machine is not None and max(source, target) < machine.machine.num_states:
                line["from_name"], line["to_name"] = machine.name(source), machine.name(target)
                line["because"] = machine.edge_text(source, labels)
                line["kind"] = machine.kind(target, move.reward)
                if self._narrator is not None:
                    narrator = self._narrator[1]
                    line["words"] = {n: narrator.move(moved, n, rounds) for n in LANGUAGES}

        self._log(line, complete)

    def _log(self, line: dict[str, Any], complete: Callable[[], None] = lambda: None) -> None:
        """Add a line to the log: in the worker, after the mission's machine, and so in order."""
        number = self._log_number

        def write() -> None:
            if number == self._log_number:  # else the recording is played from elsewhere by now
                complete()
                self.hub.append("log", [line])

        self._worker.submit(write)

    def _take_mission(self, key: tuple[Any, ...]) -> None:
        """Work out the machine of a mission, unless it is the present one."""
        if key == self._mission_key:
            return
        self._mission_key = key
        self._way, self._drawn = [], ()
        _, text, form, horizon, repeat, seconds, events = key
        context, gamma, learned = self.context, self._gamma, self._learned

        def work() -> None:
            try:
                # Everything that depends on `self` was read before: this runs in the worker, and
                # `context` is replaced.
                mission = context.compiled(
                    text,
                    format=form,
                    horizon=horizon,
                    repeat=repeat,
                    step_seconds=seconds or context.step_seconds,
                    events=events,
                )
                view = MachineView(mission, _with_events(context.label_sets, events), gamma)
                self._narrator = key[0], Narrator(mission, context.label_sets, learned)
            # A recording may hold any mission: the page says that it cannot be shown, and goes on.
            except (SkmError, RecursionError, MemoryError) as error:
                self._machine = self._narrator = None
                self.hub.put("machine", {"problem": str(error)})
                return
            self._machine = view
            self.hub.put(
                "formula",
                {
                    "formula": None if mission.formula is None else str(mission.formula),
                    "words": mission.words,
                    "names": []
                    if mission.in_parts or view.machine.num_states >= 5000
                    else list(view.machine.names),
                },
            )
            self._draw()
            self._tell()

        self._worker.submit(work)

    def on_decision(self, decision: Any) -> None:  # noqa: ANN401 - a Decision
        """Take why the robot does what it does."""
        pursued = next((goal for goal in decision.goals if goal.pursued), None)
        self._next = None
        if pursued is not None and int(pursued.leads_to) != int(decision.state):
            self._next = int(decision.state), int(pursued.leads_to)
        why = why_document(decision, self._gamma, self._hold)
        self._nearest = why["state"], why["dangers"][0]["steps"] if why["dangers"] else None
        self.hub.put("why", why)
        self._tell()
        self._show_position()

    def _show_position(self) -> None:
        way = self._way[-MOST_WAY:]
        self.hub.put(
            "position",
            {
                "state": self._state,
                "way": sorted(set(way)),
                "moves": sorted({f"{a}-{b}" for a, b in pairwise(way)}),
                "next": None if self._next is None or self._next[0] != self._state else self._next,
            },
        )
        machine = self._machine
        if machine is not None and machine.folded and self._drawn != (self._state,):
            self._worker.submit(self._draw)

    def _draw(self) -> None:
        """Draw the machine as it is to be seen now; in the worker."""
        machine, state = self._machine, self._state
        # Of large machines only the part around the present state is drawn, so they are drawn anew
        # as it moves.
        if machine is None or (self._drawn == (state,) and machine.folded):
            return
        self._drawn = (state,)
        self.hub.put("machine", machine.drawing(state, self._way[:-1]))

    def whole_machine(self) -> dict[str, Any]:
        """Return the picture of the whole machine; may take a while."""
        if self._machine is None:
            raise SkmError("there is no machine to show")
        return self._machine.sketch()

    # Health

    def on_diagnostics(self, message: Any, namespace: str, at: float) -> None:  # noqa: ANN401
        """Take the health of nodes; at: seconds since 1970."""
        nodes = dict(self.hub.value("health") or {})
        for status in message.status:
            space, _, name = status.name.split(":", maxsplit=1)[0].strip().rpartition("/")
            if space == namespace.rstrip("/"):
                level = status.level
                # rclpy has a byte as bytes, the codec of recordings as a number.
                number = level[0] if isinstance(level, bytes) else int(level)
                nodes[name] = {
                    "level": word(LEVELS, number),
                    "message": status.message,
                    "message_de": in_german(status.message),
                    "values": [[pair.key, pair.value] for pair in status.values],
                    "at": round(at, 1),
                }
        self.hub.put("health", nodes)


def _held_for(domain: str, skills: Skills | None) -> int:
    """Return for how many steps a decision is held; of a recording, if the domain is known by name."""
    if skills is not None:
        return hold_of(skills)
    try:  # a recording may name anything: no module is imported, and no folder is read for it
        return 1 if {":", "/", "."} & set(domain) else get_domain(domain).hold
    except SkmError:
        return 1


def _said(narrator: Narrator, about: Situation | Ending, language: str) -> str:
    if isinstance(about, Ending):
        return narrator.ended(about, language)
    return narrator.where(about, language)


def _with_events(
    label_sets: tuple[frozenset[str], ...], events: tuple[str, ...]
) -> tuple[frozenset[str], ...]:
    """Return the label sets with every choice of events; none (no restriction) if that is too many."""
    if 2 ** len(events) > MOST_EVENT_SETS:
        return ()
    sets = set(label_sets)
    for event in events:
        sets |= {labels | {event} for labels in sets}
    return tuple(sets)
