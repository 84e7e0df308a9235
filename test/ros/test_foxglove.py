"""The nodes live in Foxglove: a client of its protocol hears of channels and reads their messages."""

import json
import socketserver
import struct

import pytest
from harness import PATROL, node_process
from policy_check import BY_NODE, check_policy
from websockets.sync.client import connect

from skm_primitives.recording.cdr import Codec

PATIENCE = 60
SEEN = ("/skm/labels", "/skm/machine_state", "/skm/mission_log", "/skm/primitives_info")


@pytest.fixture(scope="module")
def foxglove(shared_office):
    """The node beside the shared office."""
    process = node_process("foxglove", shared_office.domain_id, port=0)
    yield process
    process.stop_cleanly()


class Client:
    """Speaks Foxglove's protocol, and knows no message but by the schema that it was told."""

    def __init__(self, socket):
        self.socket = socket
        self.channels, self.codecs = {}, {}

    def until_advertised(self, topics):
        while not set(topics) <= self.channels.keys():
            told = json.loads(self.socket.recv(PATIENCE))
            if told["op"] == "advertise":
                self.channels |= {channel["topic"]: channel for channel in told["channels"]}

    def subscribe(self, topics):
        for number, topic in enumerate(topics):
            channel = self.channels[topic]
            self.codecs[number] = topic, Codec(channel["schemaName"], channel["schema"])
        wanted = [{"id": n, "channelId": self.channels[t]["id"]} for n, t in enumerate(topics)]
        self.socket.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))

    def receive(self):
        """Return the next message's topic and value."""
        while True:
            frame = self.socket.recv(PATIENCE)
            if isinstance(frame, bytes) and frame[0] == 1:
                number, _ = struct.unpack_from("<IQ", frame, 1)
                topic, codec = self.codecs[number]
                return topic, codec.decode(frame[13:])


def see_a_run(client, office):
    """Subscribe, and wait for what was said before and for what a mission says."""
    client.until_advertised([*SEEN, "/diagnostics"])
    for topic in SEEN:
        assert client.channels[topic]["encoding"] == "cdr"
        assert client.channels[topic]["schemaEncoding"] == "ros2msg"
    client.subscribe(SEEN)
    found = {}
    while "/skm/primitives_info" not in found:  # said once, long ago
        topic, value = client.receive()
        found[topic] = value
    assert found["/skm/primitives_info"].domain == "office"
    goal = office.send(PATROL)
    begun, labels = None, 0
    while begun is None or not labels:
        topic, value = client.receive()
        if topic == "/skm/mission_log" and value.mission == PATROL:
            begun = value
        labels += topic == "/skm/labels" and begun is not None and "decoration" in value.names
    goal.cancel()


def test_foxglove_sees_the_run_live_and_the_latest_of_before(office, foxglove):
    url = foxglove.told(r"Foxglove connects to (\S+)", "the address")
    assert url.startswith("ws://127.0.0.1:")
    for kind, right in BY_NODE:
        check_policy(office.client.node, office.wait_until, "foxglove", kind, right)
    with connect(url, subprotocols=["foxglove.sdk.v1"], close_timeout=1) as socket:
        see_a_run(Client(socket), office)


def test_a_port_that_is_taken_is_said(domain_id):
    with socketserver.TCPServer(("127.0.0.1", 0), None) as taken:
        process = node_process("foxglove", domain_id, port=taken.server_address[1])
        process.wait_for(lambda: process.returncode is not None, "its end")
    assert process.stop() == 2
    assert "Foxglove cannot be served on port" in process.transcript()
    assert "Traceback" not in process.transcript()
