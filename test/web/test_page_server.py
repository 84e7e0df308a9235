"""The page's server: who it lets in, what it lets them do, and that nobody waits for a slow page."""

import http.client
import json
import threading

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from skm_machine.errors import SkmError
from skm_web.hub import MOST_ITEMS, Hub, Seen
from skm_web.server import MOST_BYTES, TOKEN_VARIABLE, Gate, PageServer, is_loopback, token_for


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


def news(socket):
    while True:
        message = json.loads(socket.recv(timeout=20))
        if message["type"] == "news" and "documents" in message:
            return message["documents"]


def answer(socket):
    while True:
        message = json.loads(socket.recv(timeout=20))
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


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "", "[::1"])
def test_a_foreign_name_for_this_server_is_refused(served, host):
    assert get(served[2], Host=host.format(port=served[2]))[0] == 403


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
