"""STOP in a real browser, on running nodes, with a frozen or dead server and a bad network between."""

import pytest
from office_page import PATROL, Office, send

from browser import chromium, page_at, until, until_text
from faulty_network import FaultyNetwork
from skm_ros.client.private_domain import private_domain_id
from stop_trials import StopTrials

PHONE = {"width": 390, "height": 840}


@pytest.fixture(scope="module")
def office():
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


@pytest.fixture(scope="module")
def trials(office, browser):
    with FaultyNetwork(office.port) as network, page_at(browser, network.url) as page:
        made = StopTrials(office, network, page)
        made.begin()
        yield made


@pytest.mark.parametrize("kind", StopTrials.KINDS)
def test_a_stop_gets_through_or_an_alarm_says_that_it_did_not(trials, kind):
    found = trials.run(kind)
    assert found.passed, found
    if kind != "30 % loss":  # of which some get through in time
        assert found.alarm_after is not None


def test_an_alarm_survives_a_reload_and_another_page_stops_meanwhile(office, browser):
    with FaultyNetwork(office.port) as network, page_at(browser, network.url) as page:
        page.wait_for_selector("#status[data-kind=live]")
        send(page, PATROL)
        page.wait_for_selector("#phase[data-phase=running]")
        network.cut = True
        page.click("#stop")
        page.wait_for_selector("#stop-alarm:not([hidden])")
        with page_at(browser, office.url, viewport=PHONE) as phone:
            phone.wait_for_selector("#status[data-kind=live]")
            phone.click("#stop")
            phone.wait_for_selector("#alarm:not([hidden])")
            assert not phone.is_visible("#stop-alarm")
            network.heal()
            page.reload()
            page.wait_for_selector("#stop-alarm:not([hidden])")
            until_text(page, "#stop-failed", "GOT THROUGH LATE")
            page.click("#seen")
            assert not page.is_visible("#stop-alarm")
            phone.click("#resume")
            phone.wait_for_selector("#phase[data-phase=running]")
        page.click("#cancel")
        page.wait_for_selector("#phase[data-phase=idle]")


def test_a_stop_that_the_robot_does_not_take_raises_the_alarm_and_is_sent_again(office, browser):
    with page_at(browser, office.url) as page:
        office.system.kill("sim")
        until(page, "document.querySelector('#pause').disabled")
        page.keyboard.press("Escape")
        until_text(page, "#stop-detail", "or is not there")
        page.click("#seen")
        assert page.is_visible("#stopping")
        office.system.start("sim")
        page.wait_for_selector("#stopping", state="hidden")
        assert "The robot is stopped" in page.inner_text("#alarm")
        assert not page.is_visible("#stop-alarm")
        page.click("#resume")
        page.wait_for_selector("#alarm", state="hidden")


def test_with_a_dead_man_switch_the_robot_moves_only_while_somebody_looks(browser):
    with private_domain_id() as number:
        office = Office(number, sim={"deadman": "page_alive"}, web={"deadman": "page_alive"})
        try:
            office.wait_ready()
            last = office.system.traffic.observations

            def is_held():
                return last.last is not None and not last.last.stopped

            with FaultyNetwork(office.port) as network, page_at(browser, network.url) as page:
                office.system.wait_until(is_held, "the page to hold the switch")
                network.delay = 2.0  # the page lives, but a stop would take too long
                office.system.wait_until(lambda: not is_held(), "the switch to be let go")
                network.heal()
                office.system.wait_until(is_held, "the page to hold the switch again")
                assert page.is_visible("#stop")
            office.system.wait_until(lambda: not is_held(), "the robot to be stopped")
            assert "dead-man" in last.last.stopped
            office.stop()
        finally:
            office.discard()
