"""The primitives as the machine node knows them: who they are, and whether they are there.

They introduce themselves (`primitives_info`), and what they say is checked; other primitives than before
are taken only if the service `query` vouches for them. Their death, or freezing, is known by the sign of
life that the middleware attaches to the introduction. In one process with the machine it attaches none,
so that a loss is only believed if `query` does not answer either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from rclpy.client import Client
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.task import Future
from skm.msg import PrimitivesInfo
from skm.srv import QueryValues

from skm_machine.errors import SkmError
from skm_primitives.skills.values import RemoteSkills
from skm_ros import qos
from skm_ros.nodes.skm_node import SkmNode
from skm_ros.skills_conversion import remote_skills

ANSWER_SECONDS: Final = 1.0
"""How long a question who they are may take."""


class PrimitivesPeer:
    """What is known of the primitives.

    `on_skills` is called with others than before, and `on_ready` when they are there, or there again.
    """

    def __init__(
        self,
        node: SkmNode,
        query: Client,
        *,
        on_skills: Callable[[RemoteSkills], None],
        on_ready: Callable[[], None],
    ) -> None:
        self._node, self._on_skills, self._on_ready = node, on_skills, on_ready
        self._query = query
        self.skills: RemoteSkills | None = None
        self._alive = False
        self._offered: RemoteSkills | None = None
        self._asked_at: float | None = None
        node.create_subscription(
            PrimitivesInfo,
            "primitives_info",
            self._on_info,
            qos.ALIVE,
            callback_group=node.low_priority,
            event_callbacks=SubscriptionEventCallbacks(
                liveliness=self._on_liveliness, use_default_callbacks=False
            ),
        )

    @property
    def ready(self) -> bool:
        """Whether they are known and there."""
        return self.skills is not None and self._alive and bool(self._query.service_is_ready())

    def watch(self, now: float) -> None:
        """Look whether a question has been answered; ask again what is still open."""
        if self._asked_at is not None and now - self._asked_at > ANSWER_SECONDS:
            self._asked_at = None
            self._alive = False
        if self._offered is not None:
            self._ask(self._offered.digest)

    def _on_info(self, info: PrimitivesInfo) -> None:
        if self.skills is not None and self.skills.digest == info.digest:
            self._alive, self._asked_at = True, None
            self._node.counts["introductions taken"] += 1
            self._on_ready()
            return
        try:
            offered = remote_skills(info)
        except SkmError as error:
            self._node.drop("unusable primitives_info", error)
            return
        if self._offered is not None:
            self._node.drop("primitives_info in whose place another came")
        self._offered = offered
        self._ask(self._offered.digest)

    def _on_liveliness(self, event: Any) -> None:  # noqa: ANN401 - of the middleware
        if event.alive_count > 0:
            self._alive, self._asked_at = self.skills is not None, None
        elif self.skills is not None:
            self._ask(self.skills.digest)

    def _ask(self, digest: str) -> None:
        """Ask `query` which checkpoint it serves."""
        if self._asked_at is None and self._query.service_is_ready():
            self._asked_at = time.monotonic()
            request = QueryValues.Request(digest=digest)
            self._query.call_async(request).add_done_callback(self._on_answer)

    def _on_answer(self, future: Future) -> None:
        answer, offered = future.result(), self._offered
        self._asked_at = None
        if answer is None:
            return
        if offered is None:
            self._alive = self.skills is not None and answer.digest == self.skills.digest
            return
        self._offered = None
        if answer.digest != offered.digest:
            self._node.drop(
                "primitives_info that its service contradicts", offered.checkpoint[:100]
            )
            return
        self.skills, self._alive = offered, True
        self._node.counts["introductions taken"] += 1
        self._on_skills(offered)
        self._on_ready()
