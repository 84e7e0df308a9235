"""The bond that a lifecycle manager keeps with the nodes that it manages, where bondpy is installed.

Nav2's manager takes a node that it has activated for dead if no heartbeat of it comes on the topic
`bond` (relative to the manager's namespace), with the node's name. Here the node's side of it: formed by
activate, broken by deactivate. bondpy comes with an installed ROS 2 and is on no registry; without it
the manager needs `bond_timeout: 0.0`.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from rclpy.node import Node

TOPIC: Final = "bond"
TIMEOUT: Final = 4.0
"""Seconds without a heartbeat after which either side is dead to the other, as Nav2's nodes have it."""


class ManagerBond:
    """One node's bond; there is none where bondpy is missing or the period is 0."""

    def __init__(self, node: Node, period: float) -> None:
        self._node, self._period = node, period
        self._bond: Any = None

    def form(self) -> None:
        """Begin to send heartbeats, and to listen for the manager's."""
        if self._bond is not None or not self._period:
            return
        try:
            made = importlib.import_module("bondpy.bondpy").Bond
        except ImportError:
            self._node.get_logger().info(
                "no bond with a lifecycle manager: bondpy is not installed; Nav2's manager needs"
                " bond_timeout 0"
            )
            return
        # As released for ROS 2; its migration had the node last for a while.
        self._bond = made(self._node, TOPIC, self._node.get_name())
        self._bond.heartbeat_period = self._period
        self._bond.heartbeat_timeout = TIMEOUT
        self._bond.start()

    def break_(self) -> None:
        """Tell the manager that this node takes part no more, on purpose."""
        bond, self._bond = self._bond, None
        if bond is not None:
            bond.shutdown()
