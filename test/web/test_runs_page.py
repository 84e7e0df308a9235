"""The recordings of a folder on the page: found, opened, judged, taken home, deleted, brought back."""

import asyncio
import http.client
import json
import os
import time

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser import chromium, page_at, until, until_text
from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import codec_of
from skm_primitives.recording.files import RunWriter, read_recording
from skm_primitives.recording.retention import Retention
from skm_web.hub import Hub, Seen
from skm_web.runs import DELETED, RunLibrary
from skm_web.server import PageServer
from skm_web.views import why_document

COFFEE = "F coffee & G !decoration"


@pytest.fixture
def folder(tmp_path):
    for name, mission, more in (
        ("one", COFFEE, []),
        ("two", "F(mail & X F office)", []),
        ("three", "F office & G !decoration", ["--max-steps", "2"]),
    ):
        path = str(tmp_path / f"{name}.mcap")
        assert main(["run", "office", mission, "--start", "2,2", "--record", path, *more]) < 2
    return tmp_path


def serving(library):
    more = {"downloads": library.file, "visit": library.visit}
    return PageServer(library.hub, library.handle, **more)


def test_runs_are_found_opened_judged_taken_home_deleted_and_brought_back(folder):
    library = RunLibrary(folder)
    server = serving(library)
    with server, chromium() as browser, page_at(browser, server.url) as page:
        until(page, "document.querySelectorAll('#runs-rows tr').length === 3")
        assert not page.is_visible("#stop")
        assert not page.is_visible("#compose")
        page.fill("#runs-search", "today timed")
        until(page, "document.querySelectorAll('#runs-rows tr').length === 1")
        page.click("#runs-rows .link")
        until_text(page, "#where", "three.mcap")
        assert page.is_visible("#replay")
        page.fill("#runs-search", "mail")
        page.click("#runs-rows .link")
        until_text(page, "#where", "two.mcap")
        until_text(page, "#words", "1 of 2: going for mail")
        page.fill("#runs-search", "")
        until_text(page, "[data-file='one.mcap']", "agrees")  # judged without being asked
        home = http.client.HTTPConnection("127.0.0.1", server._gate.port, timeout=20)
        for path, status in (("one.mcap", 200), ("no.mcap", 404), ("..%2fsecret.mcap", 404)):
            home.request("GET", f"/recordings/{path}")
            answer = home.getresponse()
            assert (answer.status, len(answer.read()) > 1000) == (status, status == 200)
        page.click("#all-runs")
        until(page, "!document.body.classList.contains('replaying')")
        assert not page.is_visible("#replay")
        page.go_back()
        until_text(page, "#where", "two.mcap")
        page.click("[data-file='one.mcap'] [title=delete]")
        until(page, "document.querySelectorAll('#runs-rows tr').length === 2")
        assert not (folder / "one.mcap").exists()
        page.click("#undo")
        until(page, "document.querySelectorAll('#runs-rows tr').length === 3")
        assert (folder / "one.mcap").exists()
        page.click("[data-file='one.mcap'] [title=delete]")
        until(page, "document.querySelectorAll('#runs-rows tr').length === 2")
    library.stop()
    assert not (folder / DELETED).exists()
    assert not (folder / "one.mcap").exists()


def axe_finds_nothing(page):
    """In both themes."""
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_two_runs_are_compared_on_one_time_line(folder):
    library = RunLibrary(folder)
    server = serving(library)
    with server, chromium() as browser, page_at(browser, server.url) as page:
        page.wait_for_selector("[data-file='one.mcap'] .link")
        axe_finds_nothing(page)
        page.click("[data-file='one.mcap'] .link")
        until_text(page, "#where", "one.mcap")
        axe_finds_nothing(page)
        page.click("[data-file='two.mcap'] [title^=compare]")
        until_text(page, "#other-title", "two.mcap")
        until_text(page, "#other-words", "going for mail")
        until_text(page, "#words", "Going for coffee")
        (viewer,) = library._viewers
        longest = max(viewer.replay.length, viewer.other.length)
        until(page, f"Math.abs(document.querySelector('#time').max - {longest}) < 0.02")
        axe_finds_nothing(page)
        page.focus("#time")
        page.keyboard.press("End")
        until_text(page, "#other-words", "Done after")
        until_text(page, "#words", "Done after")
        until(page, "document.querySelectorAll('#other-scene .way').length > 0")
        page.click("#play")  # both have ended: from the beginning
        until_text(page, "#other-words", "going for")
        page.click("#alone")
        until(page, "!document.body.classList.contains('comparing')")
    library.stop()


def test_a_failed_run_says_why_in_the_list(folder):
    library = RunLibrary(folder)
    hub = library.hub
    row = next(row for row in hub.value("runs")["rows"] if row["file"] == "three.mcap")
    assert row["outcome"] == "timed out"
    assert "out of time" in row["words"]
    library.stop()


def test_a_recording_under_way_is_listed_unread_and_kept_until_it_is_finished(folder, monkeypatch):
    whole = (folder / "one.mcap").read_bytes()
    growing = folder / "growing.mcap"
    with RunWriter(growing) as writer:
        writer.metadata("skm.run", {"started": "2026-01-01T00:00:00+00:00"})
        writer.metadata("skm.mission", {"mission": "F coffee", "domain": "office"})
        writer.flush()
        library = RunLibrary(folder)
        hub = library.hub
        monkeypatch.setattr("skm_web.runs.read_recording", None)  # it would fail to be read
        library.refresh()
        row = next(row for row in hub.value("runs")["rows"] if row["file"] == growing.name)
        assert (row["outcome"], row["mission"]) == ("being recorded", "F coffee")
        with pytest.raises(SkmError, match="still being written"):
            library.delete({"file": growing.name})
    monkeypatch.undo()
    growing.write_bytes(whole)  # it has its end now
    library.refresh()
    row = next(row for row in hub.value("runs")["rows"] if row["file"] == growing.name)
    assert row["outcome"] == "accepted"
    assert {
        m.name for m in read_recording(growing, without=("markers", "labels")).recorded
    }.isdisjoint({"markers", "labels"})
    library.stop()


def test_what_is_beyond_the_limit_goes_the_oldest_first_and_can_be_brought_back(folder, capsys):
    for age, name in enumerate(("three", "two", "one"), start=1):
        at = time.time() - 3600 * age
        os.utime(folder / f"{name}.mcap", (at, at))
    library = RunLibrary(folder, "2")
    hub = library.hub
    assert hub.value("runs")["deleted"] == ["one.mcap"]
    library.restore({"file": "one.mcap"})  # put aside again at once: the limit holds
    assert len(hub.value("runs")["rows"]) == 2
    library.stop()
    sizes = sum(path.stat().st_size for path in folder.glob("*.mcap"))
    assert Retention.parse(f"{sizes / 1000 - 1}kB").surplus(folder) == [folder / "two.mcap"]
    assert Retention.parse("0.05d").surplus(folder) == [folder / "two.mcap"]
    new = folder / "new.mcap"
    (folder / "three.mcap").replace(new)
    os.utime(new)  # it may still be written to
    assert Retention.parse("1kB").surplus(folder) == [folder / "two.mcap"]
    assert main(["runs", str(folder), "--keep", "1"]) == 0
    assert [path.name for path in folder.glob("*.mcap")] == ["new.mcap"]
    for wrong in ("", "x", "0", "1.5", "-3", "3parsecs", "2GB,"):
        with pytest.raises(SkmError, match="says nothing about what to keep"):
            Retention.parse(wrong)


def test_only_recordings_of_the_folder_can_be_named(folder):
    secret = folder.parent / "secret.mcap"
    secret.write_bytes(b"x")
    library = RunLibrary(folder)
    viewer = library.visit()
    for kind in ("open_run", "compare_run", "verify_run", "delete_run", "restore_run"):
        for name in ("../secret.mcap", str(secret), "no.mcap", "", 3, ["one.mcap"]):
            with pytest.raises(SkmError, match="no such recording"):
                asyncio.run(viewer.handle({"type": kind, "file": name}))
    viewer.close()
    assert secret.exists()
    with pytest.raises(SkmError, match="not a folder"):
        RunLibrary(folder / "one.mcap")


def test_a_recorded_decision_can_be_told_to_a_page():
    codec = codec_of("skm/Decision")
    decision = codec.decode(codec.encode({"lost_actions": [1, 3], "state": 1}))
    hub = Hub()
    hub.put("why", why_document(decision, 0.9))
    assert json.loads("{" + hub.news(Seen()) + "}")["documents"]["why"]["lost_actions"] == [1, 3]


def test_each_page_has_a_recording_of_its_own_which_its_address_names(folder):
    """Two people look at two failures; a link opens a run, one that did not succeed at its end."""
    library = RunLibrary(folder)
    server = serving(library)
    with server, chromium() as browser:
        with page_at(browser, server.url) as one, page_at(browser, server.url) as other:
            one.click("[data-file='one.mcap'] .link")
            until_text(one, "#where", "one.mcap")
            other.click("[data-file='three.mcap'] .link")
            until_text(other, "#where", "three.mcap")
            until_text(other, "#words", "Ended after 2 steps")
            until_text(one, "#where", "one.mcap")
            assert one.url.endswith("#one.mcap")
            one.click("[data-file='one.mcap'] [title=delete]")  # of what is open: it is closed
            until(one, "!document.body.classList.contains('replaying')")
            one.click("#undo")
            until(one, "document.querySelectorAll('#runs-rows tr').length === 3")
            address = other.url
        with page_at(browser, server.url) as sent:
            sent.goto(address)
            until_text(sent, "#where", "three.mcap")
        deadline = time.monotonic() + 20
        while library._viewers and time.monotonic() < deadline:
            time.sleep(0.05)
        assert library._viewers == []
    library.stop()


def test_days_and_failures_are_found_as_people_write_them(folder):
    library = RunLibrary(folder)
    with serving(library) as server, chromium() as browser, page_at(browser, server.url) as page:
        page.wait_for_selector("[data-file='one.mcap'] .link")
        page.fill("#runs-search", "failed")  # one ran out of time
        until(page, "document.querySelectorAll('#runs-rows tr').length === 1")
        for day in (
            time.strftime("%Y-%m-%d"),
            time.strftime("%A"),
            time.strftime("%d.%m."),
        ):
            page.fill("#runs-search", day)
            until(page, "document.querySelectorAll('#runs-rows tr').length === 3")
        page.fill("#runs-search", "1999-01-01")
        until_text(page, "#none-found", "No recording fits")
        assert page.is_visible("#none-found")
    library.stop()
