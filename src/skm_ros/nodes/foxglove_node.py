"""The foxglove node: shows the system live in Foxglove, by the server of its SDK (an extra).

Relative to its namespace (/skm):
    subscribes  mission_log, labels, observation, action, machine_state, primitives_info, markers,
                /diagnostics, and whatever else is published in the namespace
    publishes   /diagnostics (diagnostic_msgs/DiagnosticArray)

Foxglove connects to ws://127.0.0.1:8766. It is served on this machine only, since its protocol knows no
token, and takes no command. Messages are passed on as bytes, with the definitions that recordings have;
who subscribes late is sent the latest message of the topic at once.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import long_name, schema_text
from skm_ros.nodes.node_process import run_node
from skm_ros.nodes.skm_node import OK, Setting, SkmNode
from skm_ros.raw_topics import RawTopics

HOST: Final = "127.0.0.1"
LOOK_SECONDS: Final = 1.0
SETTINGS: Final = (
    Setting("port", 8766, "port for Foxglove; 0: any that is free", low=0, high=65535, fixed=True),
)


class FoxgloveNode(SkmNode):
    """Runs one server of the SDK; see the module for its interfaces."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__("foxglove", SETTINGS, **options)
        try:
            import foxglove  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise SkmError(
                "the node foxglove needs the package foxglove-sdk; install it with "
                "`pip install '.[foxglove]'`"
            ) from error
        self._sdk = foxglove
        self._sink = foxglove.Context()  # of its own: several systems may share a process
        self._channels: dict[str, foxglove.Channel] = {}
        self._latest: dict[str, bytes] = {}
        self.messages = 0
        self._topics = RawTopics(self, self._listen, self._take, self.get_logger().info)
        self._server = self._start(self.setting("port"))  # new clients know of all topics at once
        self.create_timer(LOOK_SECONDS, self._topics.look, clock=self.steady_clock)
        self.get_logger().info(f"Foxglove connects to ws://{HOST}:{self._server.port}")

    def _start(self, port: int) -> Any:  # noqa: ANN401 - of the SDK
        websocket = importlib.import_module("foxglove.websocket")
        callbacks = {"on_subscribe": lambda _, __, channel: self._on_subscribe(channel.topic)}
        try:
            return self._sdk.start_server(
                name=f"skm {self.get_namespace()}",
                host=HOST,
                port=port,
                server_listener=type("Listener", (websocket.ServerListener,), callbacks)(),
                context=self._sink,
            )
        except (OSError, RuntimeError, ValueError) as error:
            self._topics.close()
            raise SkmError(f"Foxglove cannot be served on port {port}: {error}") from error

    def _listen(self, name: str, kind: str) -> str:
        data = schema_text(kind).encode()
        schema = self._sdk.Schema(name=long_name(kind), encoding="ros2msg", data=data)
        channel = self._sdk.Channel(name, schema=schema, message_encoding="cdr", context=self._sink)
        self._channels[name] = channel
        return name

    def _take(self, name: str, message: bytes, _: int) -> None:
        self._latest[name] = message
        self.messages += 1
        self._channels[name].log(message, log_time=time.time_ns())

    def _on_subscribe(self, topic: str) -> None:
        """Send the latest message to who subscribes; in a thread of the server's."""
        latest = self._latest.get(topic)
        if latest is not None:
            self._channels[topic].log(latest, log_time=time.time_ns())

    def health(self) -> tuple[bytes, str, Mapping[str, object]]:
        """Return level, message and values for the diagnostics."""
        values = {"topics": len(self._channels), "messages": self.messages}
        return OK, f"serving Foxglove on port {self._server.port}", values

    def destroy_node(self) -> None:
        """End the server."""
        self._topics.close()
        self._server.stop()
        super().destroy_node()


def main() -> int:
    """Run the node until a signal ends it."""
    return run_node(FoxgloveNode, listening=True)


if __name__ == "__main__":
    sys.exit(main())
