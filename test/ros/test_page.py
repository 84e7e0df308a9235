"""The page on running nodes, in a real Chromium: missions sent, watched, cancelled; stops; restarts."""

import json
import re
import signal
import time

import pytest
from office_page import PATROL, Office, send
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from browser import chromium, open_experts, page_at, until, until_lit, until_text
from skm_ros.client.private_domain import private_domain_id

MISSION = "F(coffee & X F office) & G !decoration"


@pytest.fixture(scope="module")
def office_page():
    with private_domain_id() as number:
        made = Office(number)
        try:
            made.wait_ready()
            yield made
            made.stop()
        finally:
            made.discard()


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@pytest.fixture
def page(office_page, browser):
    """The page, with nothing under way; what a test leaves running is ended."""
    with page_at(browser, office_page.url) as made:
        made.wait_for_selector("#phase[data-phase=idle]")
        made.wait_for_selector("#status[data-kind=live]")
        open_experts(made)
        yield made
        for button in ("#cancel", "#resume"):  # clicks that do nothing where nothing is to be ended
            made.evaluate(f"document.querySelector('{button}').click()")
        made.wait_for_selector("#phase[data-phase=idle]")


def lit(page):
    """Return the state of the machine that is lit; None if none is."""
    return page.evaluate("document.querySelector('#graph .state.here')?.dataset.state ?? null")


def way(page):
    """Return how many points the path has."""
    lines = "[...document.querySelectorAll('#scene .way')].map(w => w.getAttribute('points'))"
    return len(" ".join(page.evaluate(lines)).split(" "))


def test_a_mission_is_sent_the_machine_moves_and_the_robot_drives(page):
    page.click("#pause")  # a busy machine must not look later than the robot drives
    until_text(page, "#pause", "Go on")
    send(page, MISSION)
    page.wait_for_selector("#phase[data-phase=running]")
    until_lit(page, 0)
    assert page.inner_text("#current") == MISSION
    page.wait_for_selector("#scene .planned")
    until_text(page, "#words", "1 of 2: going for coffee")
    until_text(page, "#words", "then office. Avoiding decoration (nearest: ")
    page.click("#language")
    until_text(page, "#words", "Meidet decoration")
    assert page.inner_text("#send").startswith("Senden")
    page.click("#language")
    page.wait_for_selector("#goals .pursued")
    assert "coffee" in page.inner_text("#goals .pursued th")
    assert "decoration" in page.inner_text("#why-notes")
    assert page.locator("#scene .ring").count() > 0
    before = way(page)
    page.click("#pause")
    until_text(page, "#phase", "✓ accepted")
    until_text(page, "#words", "Done after")
    assert "coffee at step" in page.inner_text("#words")
    assert way(page) > before
    assert page.locator("#graph .edge.taken").count() >= 1
    assert page.locator("#graph .state.been").count() >= 1


def test_an_event_is_shown_and_set_and_missions_may_name_it(page):
    until_text(page, "#events", "call: false")
    page.click("#events button")
    until_text(page, "#answer", "call: not set: no mission is under way")
    send(page, "G(call -> F office) & G F A & G F B")
    page.wait_for_selector("#phase[data-phase=running]")
    for value in ("true", "false"):
        page.click("#events button")
        until_text(page, "#answer", "the mission has taken it at its step")
        until_text(page, "#events", f"call: {value}")


def test_edges_that_cannot_happen_here_are_left_out_and_labels_are_short(page):
    send(page, "F(A & X F B) & G !decoration")
    until_lit(page, 0)
    labels = page.evaluate(
        "[...document.querySelectorAll('#graph .edge[data-edge=\"0-1\"] text')].map(t => t.textContent)"
    )
    assert labels == ["A"]  # in no cell of the office is there a decoration, too


def test_a_mission_is_checked_as_it_is_typed(page):
    page.click("#mission-text")
    page.wait_for_selector("#offers li")
    assert "patrol A, B" in page.inner_text("#offers")
    page.type("#mission-text", "F(coffee & X F ofice)")
    page.wait_for_selector("#verdict .caret")
    text, line, caret = page.inner_text("#verdict .bad"), *page.inner_text(".caret").split("\n")
    assert "unknown proposition 'ofice'" in text
    assert "did you mean 'office'" in text
    assert line[caret.index("^") :].startswith("ofice")
    assert page.is_disabled("#send")
    page.fill("#mission-text", "visit coffee, office in order; never decoration")
    page.wait_for_selector("#verdict .good")
    meaning = page.inner_text("#verdict")
    assert "succeeds by: {coffee} → {} → {} → {} → {office, people_present}" in meaning
    assert "fails by: {decoration}" in meaning
    page.fill("#mission-text", "F cof")
    page.press("#mission-text", "End")
    page.type("#mission-text", "f")
    page.press("#mission-text", "ArrowDown")
    page.press("#mission-text", "Enter")
    page.wait_for_selector("#verdict .good")
    assert page.input_value("#mission-text") == "F coffee"


def test_two_pages_see_one_run_and_one_of_them_cancels_it(page, office_page, browser):
    with page_at(browser, office_page.url, viewport={"width": 390, "height": 840}) as phone:
        send(page, PATROL)
        phone.wait_for_selector("#phase[data-phase=running]")
        until(phone, "document.querySelector('#graph .state.here') !== null")
        assert phone.inner_text("#current") == PATROL
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert phone.evaluate(sideways) == 0
        phone.click("#cancel")
        for each in (page, phone):
            until_text(each, "#phase", "cancelled")


def test_escape_stops_the_robot_and_it_is_let_go_again(page, office_page):
    send(page, PATROL)
    page.wait_for_selector("#phase[data-phase=running]")
    page.press("#mission-text", "Escape")
    page.wait_for_selector("#alarm:not([hidden])")
    assert "The robot is stopped" in page.inner_text("#alarm")
    page.wait_for_selector("#phase[data-phase=stopped]")
    page.click("#resume")
    page.wait_for_selector("#alarm", state="hidden")
    page.wait_for_selector("#phase[data-phase=running]")


def test_pause_and_reset(page):
    page.wait_for_selector("#pause:not([disabled])")
    page.click("#pause")
    until_text(page, "#pause", "Go on")
    page.click("#pause")
    until_text(page, "#pause", "Pause world")
    episode = int(re.search(r"episode (\d+)", page.inner_text("#world-facts"))[1])
    page.click("#reset")
    until_text(page, "#world-facts", f"episode {episode + 1}")


def test_the_page_survives_the_restart_of_the_machine_and_of_its_server(page, office_page):
    system = office_page.system
    system.kill("machine")
    page.wait_for_selector("#nodes [data-name=machine][data-level=stale]")
    page.wait_for_selector("#send[disabled]")
    system.start("machine")
    page.wait_for_selector("#nodes [data-name=machine][data-level=ok]")
    office_page.web.signal_group(signal.SIGSTOP)
    page.wait_for_selector("#status[data-kind=lost]")
    assert "as of" in page.inner_text("#status")
    office_page.web.signal_group(signal.SIGCONT)
    office_page.restart_web()
    page.wait_for_selector("#status[data-kind=live]")
    send(page, "F mail")
    until_text(page, "#phase", "✓ accepted")


@pytest.mark.parametrize("origin", ["http://evil.example", None, "null", "https://127.0.0.1"])
def test_a_page_from_elsewhere_is_refused(office_page, origin):
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{office_page.port}/socket", origin=origin)
    assert refused.value.response.status_code == 403


def test_a_page_that_does_not_listen_slows_nobody(office_page, page):
    url = f"ws://127.0.0.1:{office_page.port}/socket"
    origin = f"http://127.0.0.1:{office_page.port}"
    with connect(url, origin=origin, max_queue=1) as deaf:
        for number in range(100):
            deaf.send(json.dumps({"type": "check", "id": number, "text": "F coffee"}))
        send(page, "F mail & F coffee")
        before, began = page.evaluate("window.skmUpdates"), time.monotonic()
        until_text(page, "#phase", "✓ accepted")
        assert page.evaluate("window.skmUpdates") - before > time.monotonic() - began
