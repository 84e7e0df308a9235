"""The recordings of a folder on the page: found, opened, judged, taken home, deleted, brought back."""

import asyncio
import http.client
import json

import pytest

from browser import chromium, page_at, until, until_text
from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.recording.cdr import codec_of
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


def test_runs_are_found_opened_judged_taken_home_deleted_and_brought_back(folder):
    hub = Hub()
    library = RunLibrary(folder, hub)
    server = PageServer(hub, library.handle, downloads=library.file)
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
        page.click("[data-file='one.mcap'] button:has-text('verify')")
        until_text(page, "[data-file='one.mcap']", "agrees")
        home = http.client.HTTPConnection("127.0.0.1", server._gate.port, timeout=20)
        for path, status in (("one.mcap", 200), ("no.mcap", 404), ("..%2fsecret.mcap", 404)):
            home.request("GET", f"/recordings/{path}")
            answer = home.getresponse()
            assert (answer.status, len(answer.read()) > 1000) == (status, status == 200)
        page.click("[data-file='two.mcap'] [title=delete]")
        until_text(page, "#runs-answer", "this recording is open")
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


def test_only_recordings_of_the_folder_can_be_named(folder):
    secret = folder.parent / "secret.mcap"
    secret.write_bytes(b"x")
    library = RunLibrary(folder, Hub())
    for kind in ("open_run", "verify_run", "delete_run", "restore_run"):
        for name in ("../secret.mcap", str(secret), "no.mcap", "", None, 3, ["one.mcap"]):
            with pytest.raises(SkmError, match="no such recording"):
                asyncio.run(library.handle({"type": kind, "file": name}))
    assert secret.exists()
    with pytest.raises(SkmError, match="not a folder"):
        RunLibrary(folder / "one.mcap", Hub())


def test_a_recorded_decision_can_be_told_to_a_page():
    codec = codec_of("skm/Decision")
    decision = codec.decode(codec.encode({"lost_actions": [1, 3], "state": 1}))
    hub = Hub()
    hub.put("why", why_document(decision, 0.9))
    assert json.loads("{" + hub.news(Seen()) + "}")["documents"]["why"]["lost_actions"] == [1, 3]
