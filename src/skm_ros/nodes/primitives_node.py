"""The primitives node: serves the values of the learned skills.

Relative to its namespace (/skm):
    publishes   primitives_info (skm/PrimitivesInfo), latched
                /diagnostics (diagnostic_msgs/DiagnosticArray)
    offers      query (skm/QueryValues)

It does not start with a checkpoint that does not fit the domain.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gymnasium.spaces import Discrete
from skm.msg import PrimitivesInfo
from skm.srv import QueryValues

from skm_machine.errors import SkmError
from skm_primitives.skills.loading import load_primitives, skills_name
from skm_ros import qos
from skm_ros.conversions import fill_values, observation_reader
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_ros.skills_conversion import primitives_info
from skm_sim.registry import FIRST, get_domain

KEPT_BYTES: Final = 1 << 23
"""How much of the answers is kept, where states can be counted: a robot on patrol comes by again."""
SETTINGS: Final = (
    Setting("domain", FIRST, "domain by name, package.module:ATTRIBUTE or folder", fixed=True),
    Setting(
        "checkpoint",
        "",
        "path of the checkpoint to serve, or skills of an installed package; empty: the domain's",
        fixed=True,
    ),
)


class PrimitivesNode(SkmNode):
    """Serves one checkpoint; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("primitives", SETTINGS, **options)
        spec = get_domain(self.setting("domain"))
        name = skills_name(spec, self.setting("checkpoint"))
        self._primitives = load_primitives(spec, self.setting("checkpoint"))
        env = spec.make(disable_env_checker=True)
        if env.action_space != self._primitives.action_space:
            raise SkmError(
                f"{name} has the actions {self._primitives.action_space}, which do not fit those "
                f"of '{spec.name}', {env.action_space}"
            )
        self._read_observation = observation_reader(env.observation_space)
        self._info = primitives_info(self._primitives, Path(name).stem, env.observation_space)
        env.close()
        countable = isinstance(env.observation_space, Discrete)
        self._known_answer = self._answers() if countable else None
        self._digest: str = self._info.digest
        self._busy_seconds = 0.0
        self._info_publisher = self.create_publisher(PrimitivesInfo, "primitives_info", qos.ALIVE)
        self.create_service(QueryValues, "query", self._on_query)
        self._info.header.stamp = self.get_clock().now().to_msg()
        self._info_publisher.publish(self._info)
        self.get_logger().info(
            f"serving {name}: {len(self._primitives.goals)} goals of {spec.name}"
        )

    def _on_query(
        self, request: QueryValues.Request, response: QueryValues.Response
    ) -> QueryValues.Response:
        began = time.perf_counter()
        try:
            if not self.active:
                raise SkmError("the primitives are not active")
            if request.digest not in ("", self._digest):
                raise SkmError(
                    f"the query is for checkpoint {request.digest[:12]}, not in use here"
                )
            observation = self._read_observation(request.observation)
            violated = frozenset(request.violated_constraints)
            if self._known_answer is not None:
                response = self._known_answer(observation, violated, request.parts)
            else:
                self._fill(response, observation, violated, request.parts)
        except SkmError as error:
            response.digest, response.message = self._digest, str(error)
            self.counts["queries refused"] += 1
        self.counts["queries"] += 1
        self._busy_seconds += time.perf_counter() - began
        return response

    def _fill(
        self,
        response: QueryValues.Response,
        observation: Any,  # noqa: ANN401 - whatever the domain observes
        violated: frozenset[str],
        parts: int,
    ) -> None:
        response.digest = self._digest
        fill_values(response, self._primitives.values(observation, violated), parts)
        response.success = True

    def _answers(self) -> Callable[[int, frozenset[str], int], QueryValues.Response]:
        """Return a function that answers for states that can be counted, and keeps some answers."""

        def answer(observation: int, violated: frozenset[str], parts: int) -> QueryValues.Response:
            response = QueryValues.Response()
            self._fill(response, observation, violated, parts)
            return response

        actions = int(getattr(self._primitives.action_space, "n", 1))
        size = 2 * 4 * len(self._primitives.goals) * actions
        return lru_cache(maxsize=max(1, KEPT_BYTES // max(1, size)))(answer)

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        mean = 1e3 * self._busy_seconds / max(1, self.counts["queries"])
        values = {
            "domain": self._info.domain,
            "checkpoint": self._info.checkpoint,
            "digest": self._digest,
            "mean milliseconds per query": f"{mean:.3f}",
        }
        return OK, "serving", values


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(PrimitivesNode)


if __name__ == "__main__":
    sys.exit(main())
