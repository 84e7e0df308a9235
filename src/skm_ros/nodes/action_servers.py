"""ROS actions of any package as skills: goals are filled from a file, by the types' own fields."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import Any, Final

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from skm.msg import Leg

from skm_machine.errors import SkmError, did_you_mean
from skm_ros.nodes.action_goals import ActionGoals
from skm_ros.nodes.skm_node import SkmNode
from skm_sim.maps.actions import ActionSpec
from skm_sim.robots.predicates import Predicate, PredicateError, parse_predicate

ENDS: Final = {
    GoalStatus.STATUS_ABORTED: "it was aborted",
    GoalStatus.STATUS_CANCELED: "it was cancelled, and not by skm",
}
INTEGER: Final = re.compile(r"(u?)int(\d+)")
SEQUENCE: Final = re.compile(r"sequence<([^,>]+)(?:, \d+)?>|(.+)\[\d+\]")


def action_type(name: str) -> Any:  # noqa: ANN401
    """Return the class of an action type such as arm_msgs/action/Pick, of any installed package."""
    package, _, kind = name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.action"), kind)
    except (ImportError, AttributeError) as error:
        raise SkmError(
            f"the action type {name} cannot be found: is {package} installed?"
        ) from error


def fill(message: Any, values: dict[str, Any], where: str) -> Any:  # noqa: ANN401
    """Fill a message's fields from plain values, or say which does not fit and what would."""
    fields: dict[str, str] = message.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            hint = did_you_mean(name, fields)
            raise SkmError(f"{where}: there is no field '{name}'{hint}")
        try:
            setattr(
                message,
                name,
                _value(getattr(message, name), value, fields[name], f"{where}.{name}"),
            )
        except (AssertionError, AttributeError, TypeError, ValueError) as error:
            raise SkmError(f"{where}: {name} must be {fields[name]}, not {value!r}") from error
    return message


def _value(present: Any, value: Any, kind: str, where: str) -> Any:  # noqa: ANN401
    """Return a value as a field of this kind takes it."""
    if isinstance(value, dict):
        return fill(present, value, where)
    found = SEQUENCE.fullmatch(kind)
    if found is not None:
        inner = found[1] or found[2]
        if not isinstance(value, list):
            raise TypeError(kind)
        if "/" in inner:
            package, name = inner.split("/")
            made = getattr(importlib.import_module(f"{package}.msg"), name)
            return [fill(made(), part, f"{where}[{i}]") for i, part in enumerate(value)]
        return [_plain(part, inner) for part in value]
    return _plain(value, kind)


def _plain(value: Any, kind: str) -> Any:  # noqa: ANN401
    """Return a number, a text or a truth of this kind; the messages themselves do not check it."""
    if kind == "boolean":
        fits = isinstance(value, bool)
    elif kind in ("double", "float"):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        value = float(value) if fits else value
    elif found := INTEGER.fullmatch(kind):
        unsigned, bits = bool(found[1]), int(found[2])
        low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value < high
    else:
        fits = isinstance(value, str) and kind.startswith(("string", "wstring"))
    if not fits:
        raise TypeError(kind)
    return value


def fill_way(leg: Leg, cells: int, facts: Collection[str]) -> None:
    """Make a leg through states one through the cells of the map, as far as no action is due on it.

    Of what is to be avoided, that stays which the facts of the moment leave open.
    """
    states = list(leg.cells)
    world = states[0] // cells if states else 0
    way = list(takewhile(lambda state: state // cells == world, states))
    leg.cells = [state % cells for state in way]
    held = {name for bit, name in enumerate(facts) if world >> bit & 1}
    sets = [frozenset(filter(None, names.split(","))) for names in leg.avoid]
    leg.avoid = [",".join(sorted(s - set(facts))) for s in sets if s.intersection(facts) == held]


class ActionServers:
    """Sends the goals of declared actions, and says what has become of them: fits `Server`."""

    def __init__(self, node: SkmNode, specs: Sequence[ActionSpec]) -> None:
        self._node = node
        self._clients: dict[str, Any] = {}
        self._goals: dict[str, Any] = {}
        self._results: dict[str, Predicate] = {}
        for spec in specs:
            kind = action_type(spec.type)
            self._goals[spec.name] = fill(kind.Goal(), spec.goal, f"{spec.name}: goal")
            self._clients[spec.name] = ActionClient(node, kind, spec.action)
            if spec.result:
                self._results[spec.name] = parse_predicate(spec.result)

    def connect(
        self,
        on_answer: Callable[[int, bool, float], None],
        on_result: Callable[[int, str, float], None],
    ) -> None:
        """Set the callbacks for answers and results."""
        self._under_way, self._on_ended = ActionGoals(on_answer), on_result

    def send(self, number: int, spec: ActionSpec) -> bool:
        """Send a goal; tell whether anybody is there to take it."""
        sent = self._under_way.send(
            number,
            self._clients[spec.name],
            self._goals[spec.name],
            lambda answer, now: self._on_result(number, spec, answer, now),
        )
        if sent:
            self._node.get_logger().info(f"{spec.name}: a goal for {spec.action}")
        return sent

    def cancel(self, number: int) -> None:
        """Take a goal back: at once, or as soon as it is answered."""
        self._under_way.cancel(number)

    def _on_result(self, number: int, spec: ActionSpec, answer: Any, now: float) -> None:  # noqa: ANN401
        problem = ""
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            problem = ENDS.get(answer.status, f"it ended with status {answer.status}")
            if said := str(getattr(answer.result, "error_msg", ""))[:300]:
                problem = f"{problem}: {said}"
        elif spec.name in self._results:
            try:
                if not self._results[spec.name].holds(answer.result):
                    problem = f"its result is not as it must be: {spec.result}"
            except PredicateError as error:
                problem = f"its result: {error}"
        if problem:
            self._node.get_logger().warning(f"{spec.name}: {problem}")
        self._on_ended(number, problem, now)
