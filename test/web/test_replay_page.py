"""A recording on the page, in a real Chromium; and a machine of hundreds of states that stays usable."""

import asyncio
import math
from types import SimpleNamespace

import pytest

from browser import chromium, open_experts, page_at, until, until_lit, until_text
from skm_cli.main import main
from skm_web.hub import Hub
from skm_web.player import replay_file
from skm_web.server import PageServer
from skm_web.views import RunView

MISSION = "F(coffee & X F office) & G !decoration"
LARGE = " & ".join(f"F({a} & X F {b})" for a, b in ("ab", "cd", "ef", "gh", "ij"))
"""243 states: how far along each of five errands the robot is."""


KINDS = "[...document.querySelectorAll('#log-lines li')].map(line => line.className)"
IN_ORDER = ["ended", "accepted", "moved", "began"]  # the newest first


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "office.mcap"
    assert main(["run", "office", MISSION, "--start", "2,2", "--record", str(path)]) == 0
    return path


def test_a_recording_is_played_paused_and_gone_through_by_its_time_line(browser, recording):
    hub = Hub()
    replay = replay_file(recording, hub)
    replay.start()
    server = PageServer(hub, replay.handle, source=recording.name)
    try:
        with server, page_at(browser, server.url) as page:
            open_experts(page)
            until_lit(page, 0)
            assert page.is_visible("#replay")
            assert not page.is_visible("#stop")
            assert not page.is_visible("#compose")
            assert page.inner_text("#status") == "recording"
            page.select_option("#speed", "0.25")
            page.click("#play")
            until_lit(page, 2)  # what is between may go by unseen on a busy machine
            until_text(page, "#phase", "accepted")
            until_text(page, "#words", "Done after")
            lines = page.inner_text("#log-lines")
            assert "coffee reached (1 of 2)" in lines
            assert "office reached: the mission is accomplished" in lines
            assert "u0 → u1 since coffee ∧ ¬decoration held: {coffee}" in lines.replace("\n", " ")
            assert "★ u1 → accepted" in lines
            page.evaluate("document.querySelector('#experts').open = false")
            until(page, "!document.querySelector('#log-lines').innerText.includes('u1')")
            page.evaluate("document.querySelector('#experts').open = true")
            until_text(page, "#play", "Play")
            page.press("body", ",")
            until_lit(page, 1)
            page.evaluate("document.querySelector('#time').value = 0")
            page.dispatch_event("#time", "input")
            until_lit(page, 0)
            until(page, "document.querySelectorAll('#log-lines li').length === 1")
            page.click("#on")
            until_lit(page, 1)
            page.evaluate("document.querySelector('#time').value = 1000")
            page.dispatch_event("#time", "input")
            until_lit(page, 2)
            until(page, "document.querySelectorAll('#log-lines li').length === 4")
            assert [kind.split()[0] for kind in page.evaluate(KINDS)] == IN_ORDER
            ways = page.evaluate(
                "[...document.querySelectorAll('#scene .way')].map(w => w.points.length)"
            )
            assert len(ways) >= 2  # in the colours of two states
            assert min(ways) >= 2
            assert sum(ways) >= 9  # the eight steps, and where it began
    finally:
        replay.stop()


def large_mission(view, state):
    """Tell a view that a large mission is under way, in some state of its machine."""
    goal_id = SimpleNamespace(uuid=bytes(range(16)))
    header = SimpleNamespace(stamp=SimpleNamespace(sec=1, nanosec=0))
    common = {
        "header": header,
        "goal_id": goal_id,
        "mission": LARGE,
        "planner": "product",
        "reason": "",
    }
    view.on_machine_state(
        SimpleNamespace(
            **common, state=state, states=244, goal_index=-1, goal=None, phase=3, outcome=0,
            waiting_for="", target="a", active_constraints=[], violated_constraints=[],
            goal_value=0.5, mission_steps=3, accepted=0,
        )
    )  # fmt: skip


def test_a_machine_of_hundreds_of_states_is_folded_and_can_be_seen_whole(browser):
    hub = Hub()
    view = RunView(hub)

    async def handle(request):
        # As the node does: pages are still fed meanwhile, else they look for another connection.
        return {"ok": True, "drawing": await asyncio.to_thread(view.whole_machine)}

    large_mission(view, 0)
    server = PageServer(hub, handle)
    with server, page_at(browser, server.url) as page:
        open_experts(page)
        until_lit(page, 0)
        until_text(page, "#machine-facts", "states: the rest is folded")
        shown = page.locator("#graph .state").count()
        assert 5 < shown < 30
        assert page.locator("#graph .edge text").count() > shown  # with their labels
        assert page.locator("#graph .badge").count() > 0
        large_mission(view, 100)
        until_lit(page, 100)
        page.click("#unfold")
        until(page, "document.querySelectorAll('#graph .state').length > 200")
        until_lit(page, 100)
        large_mission(view, 120)
        until_lit(page, 120)
        box = page.get_attribute("#graph", "viewBox")
        page.focus("#graph")
        page.keyboard.press("+")
        assert page.get_attribute("#graph", "viewBox") != box
        page.keyboard.press("0")
        assert page.get_attribute("#graph", "viewBox") == box
        page.click("#unfold")
        until(page, "document.querySelectorAll('#graph .state').length < 30")
    view.close()


def test_what_a_mission_says_never_becomes_markup(browser):
    hub = Hub()
    evil = "<img src=x onerror=alert(1)>"
    hub.put("domain", {"domain": evil, "propositions": [evil], "patterns": [], "constraints": []})
    hub.put("labels", [evil])
    hub.put("health", {"sim": {"level": "ok", "message": evil, "values": [[evil, evil]], "at": 0}})
    hub.append("log", [{"at": 0, "kind": "ended", "step": 1, "text": evil}])
    with PageServer(hub, None) as server, page_at(browser, server.url) as page:
        until_text(page, "#log-lines", evil)
        until_text(page, "#labels", evil)
        until_text(page, "#where", evil)
        assert page.locator("img[src=x]").count() == 0


GUESS = """() => {
  const line = document.querySelector("#scene .guess").getAttribute("points").split(" ");
  return line.map((point) => point.split(",").map(Number));
}"""
RINGS = """[...document.querySelectorAll("#scene .shunned")].map((ring) =>
  ["cx", "cy", "rx"].map((name) => Number(ring.getAttribute(name))))"""


def test_a_way_that_learned_skills_will_choose_is_a_guess_around_what_is_avoided(browser, tmp_path):
    path = tmp_path / "safety.mcap"
    mission = "F(button & X F cylinder) & G !region"
    assert main(["run", "safety", mission, "--seed", "95", "--record", str(path)]) == 0
    hub = Hub()
    replay = replay_file(path, hub)
    with PageServer(hub, replay.handle) as server, page_at(browser, server.url) as page:
        replay.seek(3.0)
        page.wait_for_selector("#scene .guess")
        until_text(page, "#way-note", "a guess")
        until_text(page, "#words", "going for cylinder, about ")
        rings = page.evaluate(RINGS)
        assert len(rings) == 2, "both regions are marked"
        way = page.evaluate(GUESS)
        assert len(way) > 2, "straight ahead lies a region"
        for x, y in way[1:-1]:
            assert all(math.hypot(x - cx, y - cy) >= r for cx, cy, r in rings)
    replay.stop()
