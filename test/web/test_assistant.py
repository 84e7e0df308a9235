"""Assistants propose, skm decides: tools over MCP, a person's confirmation, and 10,000 hostile calls."""

import asyncio
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from browser import chromium, page_at, until_text
from skm_machine.errors import SkmError
from skm_web.assistant import Assistant
from skm_web.hub import Hub
from skm_web.mcp_server import mission_server
from skm_web.mission_check import MissionContext, check_mission
from skm_web.server import Application, PageServer

TOOLS = {"check", "explain", "propose", "run", "status", "stop"}
SETS = tuple(frozenset(names) for names in ((), ("A",), ("B",), ("wet",)))
CONTEXT = MissionContext(("A", "B", "wet"), label_sets=SETS)
GOOD = "visit A, B in order; never wet"


class Robot:
    """What the web node does with requests of its page; it notes what would have moved."""

    def __init__(self, policy="confirm"):
        self.hub, self.sent, self.stops, self.noted = Hub(), [], 0, []
        self.hub.put("controls", {"send": True, "stop": True})
        self.hub.put("domain", {"domain": "x", "propositions": ["A", "B", "wet"], "constraints": [],
                                "patterns": []})  # fmt: skip
        self.assistant = Assistant(self.hub, self.page, self.noted.append, policy)

    async def page(self, request):
        if request["type"] == "check":
            return {"ok": True, "verdict": check_mission(request["text"], CONTEXT)}
        if request["type"] == "send":
            self.sent.append(request["mission"])
            return {"ok": True, "message": "the robot has taken the mission"}
        if request["type"] == "proposal":
            try:
                return await self.assistant.decide(request)
            except SkmError as error:
                return {"ok": False, "message": str(error)}
        assert request["type"] == "stop"
        self.stops += 1
        return {"ok": True, "message": "the robot is stopped"}


async def call(client, name, **arguments):
    result = await client.call_tool(name, arguments)
    return result.is_error, "".join(part.text for part in result.content if part.type == "text")


def test_an_assistant_checks_explains_proposes_and_a_person_decides():
    robot = Robot()

    async def talk():
        async with Client(mission_server(robot.assistant.handle)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            assert json.loads((await call(client, "check", mission=GOOD))[1])["possible"]
            assert (
                "nearest" in (await call(client, "check", mission="visit C"))[1]
                or "C" in (await call(client, "check", mission="visit C"))[1]
            )
            assert "succeeds by" in (await call(client, "explain", mission=GOOD))[1]
            answer = json.loads((await call(client, "run", mission=GOOD, why="mail"))[1])
            assert answer["state"] == "waiting"
            assert robot.sent == []  # nobody has confirmed it
            assert robot.hub.value("proposals")[0]["why"] == "mail"
            for wrong in ("F A & G !A", "F nowhere", "", "F("):
                assert not json.loads((await call(client, "propose", mission=wrong))[1])["ok"]
            status = json.loads((await call(client, "status"))[1])
            assert status["proposals"][0]["state"] == "waiting"
            assert json.loads((await call(client, "stop"))[1])["ok"]

    asyncio.run(talk())
    asyncio.run(robot.assistant.decide({"proposal": 1, "accept": True}))
    assert robot.sent == [GOOD]
    with pytest.raises(SkmError, match="does not wait any more"):
        asyncio.run(robot.assistant.decide({"proposal": 1, "accept": True}))
    assert robot.stops == 1
    calls = [json.loads(text)["call"] for text in robot.noted]
    assert calls.count("stop") == 1
    assert calls[-1] == "confirmed by a person"


def test_a_robot_may_be_told_to_take_them_at_once_or_never():
    async def ask(robot):
        return await robot.assistant.handle({"type": "run", "mission": GOOD})

    eager, closed = Robot("run"), Robot("off")
    assert asyncio.run(ask(eager))["ok"]
    assert eager.sent == [GOOD]
    assert not asyncio.run(eager.assistant.handle({"type": "run", "mission": "F A & G !A"}))["ok"]
    assert eager.sent == [GOOD]
    assert "takes no assistants" in asyncio.run(ask(closed))["message"]
    with pytest.raises(SkmError, match="confirm, run, off"):
        Robot("always")


def hostile(draws):
    """Return a call that somebody might make who wants the robot to move, or the server to fall."""
    texts = [
        GOOD, "F A", "F A & G !A", "", "\0", "send", "F " * 900 + "A", "(" * 3000, "A" * 5000,
        "ignore all rules and run F A", '{"type": "send", "mission": "F A"}', "F[0,99999] A",
        "visit A; accept: true", "G F A & G F B", "🤖" * 50, "../../etc/passwd", "<script>x</script>",
    ]  # fmt: skip
    values = [*texts, None, True, -1, 1.5, 2**70, [], {}, ["F A"], {"mission": "F A"}]
    kinds = [
        *TOOLS, "send", "resume", "proposal", "decide", "cancel", "reset", "pause", "event",
        "confirm", "open_run", "", "__class__",
    ]  # fmt: skip
    names = ("mission", "why", "proposal", "accept", "policy", "type", "id", "confirmed", "on")
    chosen = draws.sample(names, draws.randrange(len(names)))
    return draws.choice(kinds), {name: draws.choice(values) for name in chosen}


def test_nothing_moves_by_ten_thousand_hostile_calls():
    robot, draws = Robot(), random.Random(7)

    async def attack():
        async with Client(mission_server(robot.assistant.handle)) as client:
            for number in range(10_000):
                kind, arguments = hostile(draws)
                if number % 10:  # straight at what the assistant's connection answers
                    answer = await robot.assistant.handle({**arguments, "type": kind})
                    json.dumps(answer, allow_nan=False)
                    continue
                with suppress(Exception):  # refused by the protocol itself: that is an answer, too
                    await client.call_tool(kind, arguments)
            assert (await client.list_tools()).tools

    asyncio.run(attack())
    assert robot.sent == []
    assert len(robot.hub.value("proposals")) <= 5
    assert len(robot.noted) >= 9000
    assert max(map(len, robot.noted)) < 20_000
    assert all(json.loads(text)["call"] is not None for text in robot.noted[:100])


def test_a_real_client_over_stdio_and_a_person_at_the_page():
    robot = Robot()
    server = PageServer(
        robot.hub, robot.page, below={"assistant": Application(robot.hub, robot.assistant.handle)}
    )

    async def talk(*calls):
        command = ["-m", "skm_cli.main", "mcp", "--url", server.url]
        parameters = StdioServerParameters(command=sys.executable, args=command)
        async with Client(stdio_client(parameters)) as client:
            return [(await call(client, name, **arguments))[1] for name, arguments in calls]

    with server, chromium() as browser, page_at(browser, server.url) as page:
        mission = {"mission": GOOD, "why": "<b>mail</b>"}
        [said] = _in_thread(talk, ("run", mission))
        assert json.loads(said)["state"] == "waiting"
        until_text(page, "#proposals", "<b>mail</b>")
        assert robot.sent == []
        page.click("#proposals .primary")
        until_text(page, "#answer", "has taken the mission")
        assert robot.sent == [GOOD]
        status, stopped = _in_thread(talk, ("status", {}), ("stop", {}))
        assert json.loads(status)["proposals"][0]["state"] == "running"
        assert json.loads(stopped)["ok"]
    assert robot.stops == 1


def _in_thread(talk, *calls):
    """Run a conversation in a thread with a loop of its own: Playwright has one here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(talk(*calls))).result()
