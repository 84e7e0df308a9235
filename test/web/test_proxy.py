"""The page behind nginx with TLS, by the very snippet of docs/how-to/web.md, in a real browser."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from browser import chromium, page_at
from skm_web.hub import Hub
from skm_web.server import TOKEN_VARIABLE, PageServer

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "web.md"
HOW_TO_GET_IT = (
    "the page is tested behind a real nginx, which is not here. Debian, Ubuntu: "
    "sudo apt-get install --no-install-recommends nginx"
)
AROUND = """\
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
  fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
{snippet} }}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def certificate(folder):
    """Make a certificate that nobody else vouches for."""
    files = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=robot.example", "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


@contextmanager
def nginx(folder, port, upstream):
    """Run nginx with the snippet that the docs show."""
    command = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if command is None:
        pytest.fail(HOW_TO_GET_IT, pytrace=False)
    snippet = re.search(r"```nginx\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    cert, key = certificate(folder)
    for shown, ours in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/robot.pem", str(cert)),
        ("/etc/ssl/robot.key", str(key)),
        ("http://127.0.0.1:8765", f"http://127.0.0.1:{upstream}"),
    ):
        assert shown in snippet, f"the snippet of the docs has no {shown}"
        snippet = snippet.replace(shown, ours)
    config = folder / "nginx.conf"
    config.write_text(AROUND.format(folder=folder, snippet=snippet), encoding="utf-8")
    process = subprocess.Popen(
        [command, "-c", str(config), "-p", str(folder)], stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"nginx does not start: {process.communicate()[1]}")
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


async def echo(request):
    return {"ok": True, "message": request["type"]}


def test_the_page_works_behind_nginx_with_tls(tmp_path):
    hub, asked, port = Hub(), [], free_port()

    async def handle(request):
        asked.append(request["type"])
        hub.put(
            "world",
            {"episode": 1, "step": 1, "rate": 0, "stopped": "stop was called", "ended": False},
        )
        return {"ok": True}

    url = f"https://127.0.0.1:{port}/"
    with (
        PageServer(hub, handle, public_url=url) as server,
        nginx(tmp_path, port, server._gate.port),
        chromium() as browser,
        page_at(browser, url, ignore_https_errors=True) as page,
    ):
        assert server.url == url  # of this machine alone: no token
        page.wait_for_selector("#status[data-kind=live]")
        page.keyboard.press("Escape")
        page.wait_for_selector("#alarm:not([hidden])")
        assert asked == ["stop"]
        assert not page.is_visible("#stop-alarm")


def test_beyond_this_machine_the_proxy_needs_the_token_and_other_origins_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    port = free_port()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    def get(path, **headers):
        made = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trusting)
        with closing(made) as asked:
            asked.request("GET", path, headers={"Host": "robot.example", **headers})
            answer = asked.getresponse()
            answer.read()
            return answer.status, dict(answer.getheaders())

    with (
        PageServer(Hub(), echo, public_url="https://robot.example") as server,
        nginx(tmp_path, port, server._gate.port),
    ):
        assert get("/")[0] == 401
        status, headers = get("/?token=secret")
        assert status == 303
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert get("/", Cookie=cookie)[0] == 200
        assert get("/", Cookie=cookie, Host="evil.example")[0] == 403

        def opened(origin):
            return connect(
                "wss://robot.example/socket",
                sock=socket.create_connection(("127.0.0.1", port)),
                ssl=trusting,
                origin=origin,
                additional_headers={"Cookie": cookie},
            )

        with opened("https://robot.example") as page:
            assert "news" in page.recv(timeout=20)
        with pytest.raises(InvalidStatus, match="403"):
            opened("https://evil.example")
