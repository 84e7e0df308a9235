"""How soon the page shows something, and what it weighs, in a real Chromium.

    python benchmarks/page_load.py --loads 20
    python benchmarks/page_load.py --loads 20 --round-trip 40   # milliseconds: a wireless network

Serves the middle of a run in the office as a live page does, and opens it with an empty cache each time.
First content is Chromium's own first contentful paint; the world and the words come over the WebSocket.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "test" / "helpers")]

from browser import chromium  # noqa: E402 - after the path of the tests
from skm_cli.main import main as skm  # noqa: E402
from skm_web.hub import Hub  # noqa: E402
from skm_web.player import replay_file  # noqa: E402
from skm_web.server import PageServer  # noqa: E402

MISSION = "F(coffee & X F office) & G !decoration"
FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
SHOWN = """document.querySelectorAll('#scene .things > *').length
  && document.querySelector('#words').textContent"""
WEIGHT = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
  .reduce((sum, each) => sum + each.transferSize, 0)"""


def load(browser: Any, url: str, round_trip: float) -> tuple[float, float, int]:  # noqa: ANN401
    """Open the page in a new context; return milliseconds to content and to the world, and bytes."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    try:
        page = context.new_page()
        if round_trip:
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            limits = {
                "latency": round_trip,
                "downloadThroughput": 1.25e6,
                "uploadThroughput": 1.25e6,
            }
            session.send("Network.emulateNetworkConditions", {"offline": False, **limits})
        page.goto(url, wait_until="commit")
        while not page.evaluate(SHOWN):
            page.wait_for_timeout(10)
        world = page.evaluate("performance.now()")
        while not (first := page.evaluate(FIRST)):
            page.wait_for_timeout(10)
        return first, world, page.evaluate(WEIGHT)
    finally:
        context.close()


def main() -> None:
    """Load the page so many times, and print medians and worst."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--round-trip", type=float, default=0.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        recording = Path(folder) / "run.mcap"
        skm(["run", "office", MISSION, "--start", "2,2", "--record", str(recording)])
        hub = Hub()
        replay = replay_file(recording, hub)
        replay.seek(replay.length / 2)

        async def handle(request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
            return {"ok": True, "verdict": {"ok": False, "empty": True}}

        try:
            with PageServer(hub, handle) as server:
                found = [load(browser, server.url, args.round_trip) for _ in range(args.loads + 1)]
        finally:
            replay.stop()
    for name, numbers in zip(("first content", "world and words"), zip(*found[1:], strict=True)):  # noqa: B905
        middle, worst = statistics.median(numbers), max(numbers)
        print(f"{name}: {middle / 1000:.2f} s, at most {worst / 1000:.2f} s of {args.loads} loads")
    print(f"weight: {found[-1][2] / 1000:.1f} kB")


if __name__ == "__main__":
    main()
