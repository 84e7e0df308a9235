"""The page for everybody: axe-core in both themes, text that can be read, keys, and nothing covered."""

from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser import chromium, open_experts, page_at, until, until_text
from skm_cli.main import main
from skm_web.hub import Hub
from skm_web.mission_check import check_mission
from skm_web.player import replay_file
from skm_web.server import PageServer

MISSION = "F(coffee & X F office) & G !decoration"
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
SMALL = """() => {
  const small = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".hidden, .skip, datalist, title")) continue;
    const scale = node.getScreenCTM ? node.getScreenCTM().a : 1;
    const size = scale * parseFloat(getComputedStyle(node).fontSize);
    if (size < 11.95) small.push([node.tagName, node.id, size, node.textContent]);
  }
  return small;
}"""
COVERED = """(ids) => ids.filter((id) => {
  const box = document.getElementById(id).getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return !document.getElementById(id).contains(top);
})"""
BOXES = """["world", "words", "log", "send"].map(
  (id) => document.getElementById(id).getBoundingClientRect().toJSON())"""
SHIFTS = """() => {
  window.shifts = [];
  const note = (list) => window.shifts.push(...list.getEntries().flatMap((shift) =>
    shift.sources.map(({ node }) => (node?.closest ? node : node?.parentElement))
      .filter((node) => node && !node.closest("#verdict, #offers, #words, #outcome, #scene"))
      .map((node) => node.id || node.tagName)));
  window.shiftsSeen = new PerformanceObserver(note);
  window.shiftsSeen.observe({ type: "layout-shift" });
}"""
"""Notes what Chromium sees moving, whoever has caused it, but for text within a place of its own."""
SETTLED = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
  setTimeout(() => resolve(window.shifts));
})))"""
HERE = "document.querySelector('#graph .state.here :is(rect, circle)')"
CONTROLS = ["send", "cancel", "pause", "reset", "stop", "mission-text"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "office.mcap"
    assert main(["run", "office", MISSION, "--start", "2,2", "--record", str(path)]) == 0
    return path


@contextmanager
def live_page(browser, recording, **options):
    """A page that shows the middle of a run as if it were live, and checks missions."""
    hub = Hub()
    replay = replay_file(recording, hub)
    asked = []

    async def handle(request):
        asked.append(request)
        if request["type"] == "check":
            return {"ok": True, "verdict": check_mission(request["text"], replay.view.context)}
        return {"ok": True, "message": "done"}

    replay.seek(replay.length / 2)
    del hub._documents["replay"]  # the time line: a live page has none
    hub.put("server", {"read_only": False, "source": "/skm"})
    hub.put("controls", dict.fromkeys(("send", "reset", "pause", "stop", "event", "queue"), True))
    hub.put("events", [{"name": "call", "true": False}])
    hub.put("health", {"sim": {"level": "ok", "message": "well", "values": [["a", "b"]], "at": 0}})
    try:
        with PageServer(hub, handle) as server, page_at(browser, server.url, **options) as page:
            page.wait_for_selector("#status[data-kind=live]")
            until_text(page, "#words", "going for")
            page.asked, page.hub = asked, hub
            yield page
    finally:
        replay.stop()


def plain(asked):
    """Return requests as they are written, without what every request has.

    A mission is checked while it is written, whenever there is time for it: these are left out.
    """
    requests = [request for request in asked if request["type"] != "check"]
    return [{k: v for k, v in each.items() if k not in ("id", "language")} for each in requests]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_all_text_can_be_read(browser, recording, theme, size):
    with live_page(browser, recording, color_scheme=theme, viewport=size) as page:
        page.select_option("#pattern", "patrol")
        page.click("[data-name=A]")
        page.click("[data-avoid=decoration]")
        page.wait_for_selector("#verdict .good")
        page.click("#mission-text")
        open_experts(page)
        until(page, "document.querySelector('#graph .state.here') !== null")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate(SMALL) == []
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(sideways) == 0


def test_axe_finds_nothing_where_the_alarm_is_up(browser, recording):
    with live_page(browser, recording, viewport=DESK) as page:
        page.hub.put("world", {"episode": 1, "step": 1, "rate": 4, "stopped": "x", "ended": False})
        page.evaluate("document.querySelector('#stop-alarm').hidden = false")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_suggestions_cover_no_control_and_escape_closes_them_and_stops(browser, recording):
    with live_page(browser, recording, viewport=DESK) as page:
        page.click("#mission-text")
        page.wait_for_selector("#offers li")
        box = page.locator("#mission-text")
        assert box.get_attribute("role") == "combobox"
        assert box.get_attribute("aria-expanded") == "true"
        assert page.evaluate(COVERED, CONTROLS) == []
        page.keyboard.press("ArrowDown")
        assert box.get_attribute("aria-activedescendant") == "offer-0"
        assert page.get_attribute("#offer-0", "aria-selected") == "true"
        page.keyboard.press("Escape")
        assert page.is_hidden("#offers")
        assert box.get_attribute("aria-expanded") == "false"
        assert box.get_attribute("aria-activedescendant") is None
        until_text(
            page, "#stop-detail", "does not say that it is stopped"
        )  # nobody has said so here
        assert "stop" in [request["type"] for request in page.asked]


def test_the_world_the_words_and_the_log_are_above_the_fold_and_nothing_jumps(browser, recording):
    with live_page(browser, recording, viewport=DESK) as page:
        until(page, "document.querySelectorAll('#log-lines li').length > 0")
        before = page.evaluate(BOXES)
        assert max(box["bottom"] for box in before) <= DESK["height"]
        page.evaluate(SHIFTS)
        page.click("#mission-text")
        page.wait_for_selector("#offers li")
        page.fill("#mission-text", "visit coffee, ofice")
        page.wait_for_selector("#verdict .caret")
        page.hub.put("words", {"en": "Short."})
        until_text(page, "#words", "Short.")
        page.fill("#mission-text", "visit A, B in order")
        page.wait_for_selector("#verdict .good")
        page.click("#send")  # one is under way: it asks
        page.wait_for_selector("#send-queue:not([hidden])")
        page.click("#send")
        until_text(page, "#answer", "done")
        page.hub.put("mission", {**page.hub.value("mission"), "reason": "the robot is stopped"})
        for stopped in ("stop was called", ""):
            page.hub.put("world", {**page.hub.value("world"), "stopped": stopped})
            page.wait_for_selector("#alarm", state="visible" if stopped else "hidden")
        page.evaluate("document.querySelector('#stop-alarm').hidden = false")
        assert page.evaluate(SETTLED) == []
        assert [box["top"] for box in page.evaluate(BOXES)] == [box["top"] for box in before]
    with live_page(browser, recording, viewport=PHONE) as phone:
        for name in ("#words", "#stop"):
            assert phone.locator(name).bounding_box()["y"] < 300


def test_everything_can_be_reached_and_done_with_keys(browser, recording):
    with live_page(browser, recording, viewport=DESK, reduced_motion="reduce") as page:
        seen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate("document.activeElement.id || document.activeElement.dataset.name")
            )
        wanted = {
            "stop",
            "theme",
            "language",
            "scene",
            "pattern",
            "mission-text",
            "cancel",
            "pause",
        }
        assert wanted <= set(seen)
        assert {"A", "coffee", "office"} <= set(seen)
        page.focus("#pattern")
        page.keyboard.press("p")  # patrol
        page.focus("[data-name=A]")
        page.keyboard.press("Enter")
        page.focus("[data-name=B]")
        page.keyboard.press("Space")
        assert page.input_value("#mission-text") == "patrol A, B"
        open_experts(page)
        until(page, f"{HERE} !== null")
        assert page.evaluate(f"getComputedStyle({HERE}).animationName") == "none"


def test_missions_are_built_from_clicks_kept_over_a_reload_and_asked_about(browser, recording):
    with live_page(browser, recording, viewport=DESK) as page:
        for kind, words in (
            ("order", "visit A, B in sequence"),
            ("within", "visit A, B within 30 steps"),
            ("whenever", "whenever A go to B"),
            ("visit", "visit A, B"),
        ):
            page.select_option("#pattern", kind)
            if kind == "order":  # those of the pattern before stay
                page.click("[data-name=A]")
                page.click("[data-name=B]")
            assert page.input_value("#mission-text") == words
            page.wait_for_selector("#verdict .good")
        page.click("#scene .names [data-place=C]")  # in the world itself
        assert page.input_value("#mission-text") == "visit A, B, C"
        page.click("[data-avoid=decoration]")
        page.reload()
        until(
            page,
            "document.querySelector('#mission-text').value === 'visit A, B, C; never decoration'",
        )
        page.wait_for_selector("#send:not([disabled])")
        page.click("#send")  # one is under way: it asks first
        until_text(page, "#send", "Replace the running mission?")
        assert all(request["type"] != "send" for request in page.asked)
        page.click("#send")
        until_text(page, "#answer", "done")
        sent = plain(page.asked)[-1]
        assert (sent["mission"], sent["when"]) == ("visit A, B, C; never decoration", "replace")
        for button, when in (("#send-queue", "queue"), ("#send-add", "add")):
            page.click("#send")
            page.click(button)
            until(page, "document.querySelector('#send-add').hidden")
            assert plain(page.asked)[-1]["when"] == when
        missions = [
            {"number": 4, "mission": "visit A", "under_way": True},
            {"number": 5, "mission": "visit B", "under_way": False},
            {"number": 6, "mission": "visit C", "under_way": False},
        ]
        page.hub.put("queue", {"paused": "by a person", "missions": missions})
        page.click("#queue [aria-label='sooner: visit C']")
        page.click("#queue [aria-label='take out: visit B']")
        until_text(page, "#hold", "Resume mission")
        page.click("#hold")
        until(page, "document.querySelector('#answer').textContent === 'done'")
        asked = plain(page.asked)[-3:]
        assert asked == [
            {"type": "queue", "what": "move", "number": 6, "place": 1},
            {"type": "queue", "what": "remove", "number": 5, "place": 1},
            {"type": "pause_mission", "on": False},
        ]
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.fill("#mission-text", "")
        page.wait_for_selector("#offers li")
        assert "visit A, B, C; never decoration" in page.inner_text("#offer-0")


def test_who_writes_goes_on_in_own_words_and_places_are_taken_out_of_service(browser, recording):
    with live_page(browser, recording, viewport=DESK) as page:
        page.click("[data-name=A]")  # the page begins with places to visit
        page.click("[data-name=B]")
        page.press("#mission-text", "End")
        page.type("#mission-text", "; never D")
        assert page.input_value("#pattern") == "own"
        page.click("[data-avoid=C]")
        assert page.input_value("#mission-text") == "visit A, B; never D; never C"
        assert page.is_hidden("#service"), "places of maps only"
        page.hub.put("closed", {"mail": "cleaning"})
        until_text(page, "#closed", "mail")
        page.click("#service summary")
        page.click("#closable [aria-pressed=true]")
        page.click("#closable button:text-is('office')")
        until(page, "document.querySelector('#answer').textContent === 'done'")
        asked = plain(page.asked)[-2:]
        assert asked == [
            {"type": "place", "name": "mail", "closed": False},
            {"type": "place", "name": "office", "closed": True},
        ]
