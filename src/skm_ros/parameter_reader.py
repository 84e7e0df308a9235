"""The parameters of the nodes that run missions, asked for as they appear in a namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

NODES: Final = ("sim", "bridge", "primitives", "machine")
"""Whose parameters say how a mission is run."""
MOST_NAMES: Final = 200
"""Parameters of one node that are asked for."""
MOST_TEXT: Final = 2000


class ParameterReader:
    """`values` has `NODE.PARAMETER`; `on_change` is called when there are more of them."""

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        self._node = node
        self._on_change = on_change
        self._asked: dict[str, list[Any]] = {}
        self._answered: set[str] = set()
        self.values: dict[str, str] = {}

    @property
    def waits(self) -> bool:
        """Whether a node that is there has not answered yet."""
        return not self._answered.issuperset(self._asked)

    def look(self) -> None:
        """Ask nodes that were not there before; forget those that are gone, to ask them again."""
        space = self._node.get_namespace()
        there = {
            name
            for name, where in self._node.get_node_names_and_namespaces()
            if where == space and name in NODES
        }
        for name in set(self._asked) - there:
            self._forget(name)
        for name in there - set(self._asked):
            prefix = f"{space.rstrip('/')}/{name}"
            self._asked[name] = [
                self._node.create_client(ListParameters, f"{prefix}/list_parameters"),
                self._node.create_client(GetParameters, f"{prefix}/get_parameters"),
                False,
            ]
        for name, (lister, getter, sent) in self._asked.items():
            if not sent and lister.service_is_ready() and getter.service_is_ready():
                self._asked[name][2] = True
                answer = lister.call_async(ListParameters.Request())
                answer.add_done_callback(lambda future, name=name: self._listed(name, future))

    def _forget(self, name: str) -> None:
        lister, getter, _ = self._asked.pop(name)
        self._answered.discard(name)
        self._node.destroy_client(lister)
        self._node.destroy_client(getter)

    def _listed(self, name: str, future: Future) -> None:
        answer = future.result()
        if answer is None or name not in self._asked:
            return
        names = list(answer.result.names)[:MOST_NAMES]
        values = self._asked[name][1].call_async(GetParameters.Request(names=names))
        values.add_done_callback(lambda future: self._got(name, names, future))

    def _got(self, name: str, names: list[str], future: Future) -> None:
        answer = future.result()
        if answer is None:
            return
        for parameter, value in zip(names, answer.values, strict=False):
            plain = parameter_value_to_python(value)
            self.values[f"{name}.{parameter}"] = str(plain)[:MOST_TEXT]
        self._answered.add(name)
        self._on_change()
