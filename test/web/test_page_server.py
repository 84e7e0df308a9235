"""The page's server: who it lets in, what it lets them do, and that nobody waits for a slow page."""

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from skm_machine.errors import SkmError
from skm_web.hub import MOST_ITEMS, Hub, Seen
from skm_web.server import (
    MOST_BYTES,
    MOST_OF_ONE,
    REPLACED,
    TOKEN_VARIABLE,
    Gate,
    PageServer,
    is_loopback,
    page_files,
    token_for,
)


async def echo(request):
    return {"ok": True, "message": request["type"]}


@pytest.fixture
def served():
    hub = Hub()
    hub.put("x", 1)
    with PageServer(hub, echo) as server:
        yield hub, server, int(server.url.rstrip("/").rpartition(":")[2])


def get(port, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def socket_to(port, **options):
    return connect(f"ws://127.0.0.1:{port}/socket", origin=f"http://127.0.0.1:{port}", **options)


def news(page):
    while True:
        message = json.loads(page.recv(timeout=20))
        if message["type"] == "news" and "documents" in message:
            return message["documents"]


def answer(page):
    while True:
        message = json.loads(page.recv(timeout=20))
        if message["type"] == "answer":
            return message


def test_the_page_comes_with_headers_that_forbid_all_that_is_inline_or_foreign(served):
    _, _, port = served
    status, headers, body = get(port)
    assert status == 200
    assert b'<script type="module" src="main.js">' in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/main.js", "/page.css", "/world.js", "/icon.svg"):
        assert get(port, path)[0] == 200
    for path in ("/nothing", "/../hub.py", "/%2e%2e/hub.py"):
        assert get(port, path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "robot.local", "127.0.0.1:0", "", "[::1"]
)
def test_a_foreign_name_for_this_server_is_refused(served, host):
    assert get(served[2], Host=host.format(port=served[2]))[0] == 403


def test_a_forwarded_port_is_no_foreign_name_but_a_page_of_another_port_is(served):
    port = served[2]
    for host in ("localhost:9000", "127.0.0.1:9000", "[::1]:9000"):
        assert get(port, Host=host)[0] == 200
        forwarded = socket.create_connection(("127.0.0.1", port))
        with connect(f"ws://{host}/socket", origin=f"http://{host}", sock=forwarded) as page:
            assert "server" in news(page)
    for origin in ("http://localhost:9000", "http://127.0.0.1", f"https://127.0.0.1:{port}"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{port}/socket", origin=origin)


def test_documents_come_once_and_again_when_they_change(served):
    hub, _, port = served
    with socket_to(port) as page:
        assert news(page) == {"x": 1, "server": {"read_only": False, "source": ""}}
        hub.put("x", 1)
        hub.put("y", {"<b>": "text"})
        assert news(page) == {"y": {"<b>": "text"}}


def test_requests_are_answered_and_nonsense_is_refused(served):
    with socket_to(served[2]) as page:
        page.send('{"type": "send", "id": 7}')
        assert answer(page) == {"type": "answer", "id": 7, "ok": True, "message": "send"}
        for nonsense in ("", "[]", '{"type": 3}', "[" * 5000, b"\xff\x00"):
            page.send(nonsense)
            assert not answer(page)["ok"]


def test_too_many_requests_are_refused_but_never_a_stop(served):
    with socket_to(served[2]) as page:
        for _ in range(200):
            page.send('{"type": "check", "id": 1}')
        page.send('{"type": "stop", "id": 2}')
        found = [answer(page) for _ in range(201)]
        refused = [entry for entry in found if not entry["ok"]]
        assert len(refused) > 50
        assert [entry["message"] for entry in found if entry["id"] == 2] == ["stop"]


def test_a_stop_goes_on_when_the_page_that_asked_for_it_is_gone():
    asked, done = threading.Event(), threading.Event()

    async def slow(request):
        asked.set()
        while not gone.is_set():
            await asyncio.sleep(0.01)
        done.set()
        return {"ok": True}

    gone = threading.Event()
    with PageServer(Hub(), slow) as server:
        port = int(server.url.rstrip("/").rpartition(":")[2])
        with socket_to(port) as page:
            page.send('{"type": "stop", "id": 1}')
            assert asked.wait(20)
        while server.pages:
            time.sleep(0.01)
        gone.set()
        assert done.wait(20)


def test_one_client_has_a_few_pages_and_the_newest_are_kept(served):
    _, server, port = served
    with ExitStack() as stack:
        pages = [stack.enter_context(socket_to(port)) for _ in range(MOST_OF_ONE + 3)]
        for old in pages[:3]:
            with pytest.raises(ConnectionClosed) as closed:
                answer(old)
            assert closed.value.rcvd.code == REPLACED
        assert server.pages == MOST_OF_ONE
        pages[-1].send('{"type": "stop", "id": 2}')
        assert answer(pages[-1])["ok"]


def test_pages_beyond_a_proxy_are_told_apart_and_only_by_the_proxy():
    gate = Gate("127.0.0.1", 8765, "t", "https://robot.example")
    assert gate.client("127.0.0.1", "6.6.6.6, 10.0.0.7") == "10.0.0.7"
    assert gate.client("10.0.0.9", "10.0.0.7") == "10.0.0.9"
    assert Gate("127.0.0.1", 8765).client("127.0.0.1", "10.0.0.7") == "127.0.0.1"


def test_a_sign_of_life_counts_only_if_it_answers_fresh_news(served):
    _, server, port = served
    with socket_to(port) as page:
        for late in (0.0, time.time() - 5, time.time() + 5):
            page.send(json.dumps({"type": "alive", "time": late}))
        page.send('{"type": "check", "id": 3}')
        assert answer(page)["id"] == 3  # all of them were read, and none answered
        assert not server.watched
        page.send(json.dumps({"type": "alive", "time": time.time()}))
        while not server.watched:
            time.sleep(0.01)


def test_a_request_that_is_too_large_ends_the_connection(served):
    with socket_to(served[2]) as page:
        page.send(json.dumps({"type": "check", "text": "a" * MOST_BYTES}))
        with pytest.raises(Exception, match="1009"):
            answer(page)


def test_a_read_only_server_takes_no_command():
    server = PageServer(Hub(), echo, read_only=True)
    with server, socket_to(int(server.url.rstrip("/").rpartition(":")[2])) as page:
        for kind in ("send", "cancel", "stop", "reset", "pause", "resume", "anything"):
            page.send(json.dumps({"type": kind}))
            assert "read-only" in answer(page)["message"]
        page.send('{"type": "check"}')
        assert answer(page)["ok"]


def test_beyond_the_loopback_everyone_needs_the_token(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with PageServer(Hub(), echo, "0.0.0.0") as server:
        address, _, token = server.url.partition("?token=")
        port = int(address.rstrip("/").rpartition(":")[2])
        assert token == "secret"
        assert get(port)[0] == 401
        assert get(port, "/?token=wrong")[0] == 401
        status, headers, _ = get(port, "/?token=secret")
        assert status == 303
        cookie = headers["Set-Cookie"]
        assert "HttpOnly; SameSite=Strict" in cookie
        name = cookie.partition(";")[0]
        assert get(port, "/", Cookie=name)[0] == 200
        with pytest.raises(InvalidStatus, match="401"):
            socket_to(port)
        with socket_to(port, additional_headers={"Cookie": name}) as page:
            assert "server" in news(page)


def test_before_a_proxy_the_public_address_is_the_name_and_takes_a_token(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    with PageServer(Hub(), echo, public_url="https://Robot.Example:443/skm") as server:
        assert server.url == "https://robot.example/skm/?token=secret"
        port = server._gate.port
        assert get(port)[0] == 401
        status, headers, _ = get(port, "/?token=secret", Host="robot.example")
        assert (status, headers["Location"]) == (303, "./")
        assert headers["Set-Cookie"].endswith("; Secure")
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        url = f"ws://127.0.0.1:{port}/socket"
        with connect(url, origin="https://robot.example", additional_headers=cookie) as page:
            assert "server" in news(page)
        for origin in (
            "https://evil.example",
            "http://robot.example",
            "https://robot.example:8443",
        ):
            with pytest.raises(InvalidStatus, match="403"):
                connect(url, origin=origin, additional_headers=cookie)
    for wrong in ("robot.example", "ftp://robot.example", "https://", "https://robot:port"):
        with pytest.raises(SkmError, match="--public-url"):
            PageServer(Hub(), echo, public_url=wrong)


def test_the_names_of_this_machine_are_its_own_also_with_local(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "Robot")
    gate = Gate("0.0.0.0", 80, "t")
    assert gate.host_is_ours("robot:80")
    assert gate.host_is_ours("robot.local")
    assert not gate.host_is_ours("other.local")
    assert not Gate("127.0.0.1", 80).host_is_ours("robot.local")


def test_the_loopback_takes_no_token_and_others_get_a_new_one(monkeypatch):
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("192.168.0.7")
    assert token_for("127.0.0.1") == ""
    assert len({token_for("0.0.0.0") for _ in range(5)}) == 5
    assert Gate("0.0.0.0", 80, "t").host_is_ours("192.168.0.7:80")
    assert not Gate("0.0.0.0", 80, "t").host_is_ours("rebound.example:80")


def test_a_port_that_is_taken_is_an_error_for_people(served):
    with pytest.raises(SkmError, match="another port is --port"):
        PageServer(Hub(), echo, port=served[2]).start()
    with pytest.raises(SkmError, match=r"port 99999: .*must be 0-65535"):
        PageServer(Hub(), echo, port=99999).start()


def test_a_slow_page_keeps_nobody_waiting(served):
    hub, _, port = served
    with socket_to(port, max_queue=1, close_timeout=0.1), socket_to(port) as quick:
        for number in range(50):
            hub.put("big", ["x" * 100_000, number])
            hub.put("n", number)
        while news(quick).get("n") != 49:
            pass


def test_streams_go_on_where_a_page_has_left_off_and_are_bounded():
    hub, seen = Hub(), Seen()
    hub.append("path", [1, 2])
    assert json.loads("{" + hub.news(seen) + "}")["streams"]["path"] == {
        "epoch": 0,
        "from": 0,
        "items": [1, 2],
    }
    hub.append("path", [3])
    assert json.loads("{" + hub.news(seen) + "}")["streams"]["path"]["items"] == [3]
    assert hub.news(seen) == ""
    hub.restart("path", [9])
    again = json.loads("{" + hub.news(seen) + "}")["streams"]["path"]
    assert (again["epoch"], again["items"]) == (1, [9])
    hub.append("path", range(2 * MOST_ITEMS))
    late = json.loads("{" + hub.news(Seen()) + "}")["streams"]["path"]
    assert len(late["items"]) <= MOST_ITEMS
    assert late["items"][-1] == 2 * MOST_ITEMS - 1


def test_everybody_may_put_things_at_once():
    hub = Hub()
    writers = [
        threading.Thread(target=lambda: [hub.append("log", [n]) for n in range(200)])
        for _ in range(4)
    ]
    for writer in writers:
        writer.start()
    seen, count = Seen(), 0
    while any(writer.is_alive() for writer in writers) or count < 800:
        text = hub.news(seen)
        count += len(json.loads("{" + text + "}")["streams"]["log"]["items"]) if text else 0
    assert count == 800


@pytest.mark.parametrize("page", ["index.html", "editor.html"])
def test_a_page_is_small(page):
    """All that a visit loads: half a second, also over a slow network."""
    files, found = page_files(), [page]
    for name in found:  # it grows meanwhile
        named = re.findall(r'(?:src|href|from)[= ]"(?:\./)?([\w.]+)"', files[name][1].decode())
        found += [other for other in named if other in files and other not in found]
    assert {"page.css", "link.js", "language.js"} <= set(found)
    assert sum(len(files[name][1]) for name in found) < 150_000, found
