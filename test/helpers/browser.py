"""A real Chromium on the loopback, and proof that it asks nobody else for anything."""

import re
import shutil
import socket
import threading
import time
from contextlib import contextmanager

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication",
)
HOW_TO_GET_IT = (
    "the tests of the page drive a real Chromium, which is not here. Debian, Ubuntu: "
    "sudo apt-get install --no-install-recommends chromium"
)
BROWSERS_OWN = re.compile(rb"\S+ (https?://)?[\w.\-]+\.(google|googleapis|gvt1)\.com\b")
"""What Chromium itself asks its makers for whatever page it shows; the trap lets none of it pass."""
PATIENCE = 60_000
"""Milliseconds that a page may take on a busy machine."""


class Trap:
    """A proxy for all that is not on this machine, and the end of it: nothing gets out."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.caught = []
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _watch(self):
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            with visitor:
                visitor.settimeout(2)
                try:
                    self.caught.append(visitor.recv(200))
                except OSError:
                    self.caught.append(b"?")

    def close(self):
        self._socket.close()


@contextmanager
def chromium():
    """Start a Chromium that reaches this machine only; a page that asks for more fails the test."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.fail(HOW_TO_GET_IT, pytrace=False)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    trap = Trap()
    flags = [*FLAGS, f"--proxy-server={trap.address}", "--proxy-bypass-list=127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        try:
            yield browser
        finally:
            browser.close()
            trap.close()
    assert [asked for asked in trap.caught if not BROWSERS_OWN.match(asked)] == []


@contextmanager
def page_at(browser, url, **options):
    """Open a page; faults in its scripts, and requests to others than its server, fail the test."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults, asked = [], []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda said: faults.append(said.text) if "Content Security" in said.text else None,
    )
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda opened: asked.append(opened.url.replace("ws", "http", 1)))
    page.goto(url)
    page.wait_for_selector("#status[data-kind]")
    try:
        yield page
    finally:
        context.close()
    assert faults == []
    home = url.split("?", maxsplit=1)[0]
    assert [address for address in asked if not address.startswith((home, "blob:"))] == []
    assert any(address.endswith("/socket") for address in asked)


def until(page, expression, what=""):
    """Wait until something is so in the page; asked from outside, since its policy forbids `eval`."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"timed out waiting for {what or expression}"
        page.wait_for_timeout(50)


def until_text(page, selector, text):
    """Wait until an element's text holds this one."""
    until(page, f"document.querySelector({selector!r}).textContent.includes({text!r})")


def open_experts(page):
    """Open the part with the machine, the values and the nodes."""
    page.evaluate("document.querySelector('#experts').open = true")


def until_lit(page, state):
    """Wait until this state of the machine is lit."""
    until(page, f"document.querySelector('#graph .state.here')?.dataset.state === '{state}'")
