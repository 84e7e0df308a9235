"""A team on the page, in a real Chromium: all robots on one map, each with its name and its plan."""

from pathlib import Path

import skm_sim.maps
from browser import chromium, page_at, until
from skm_primitives.recording.cdr import codec_of
from skm_primitives.recording.episode_recorder import changed_markers
from skm_sim.maps.building import make_building
from skm_sim.maps.places import read_places
from skm_sim.maps.scene import team_scene
from skm_web.hub import Hub
from skm_web.server import PageServer
from skm_web.views import RunView

HALL = Path(skm_sim.maps.__file__).parent / "hall"
ROBOTS = {"r1": (0.375, 0.375), "r2": (4.125, -3.625), "r3": (-4.125, 2.125)}
WAYS = {"r1": [(0.625, 0.375), (0.875, 0.375)], "r2": [(4.125, -3.375)], "r3": []}


async def nothing(command):
    raise AssertionError(f"nobody commands here: {command}")


def test_all_robots_are_on_one_map_each_with_its_name_and_its_plan():
    building = make_building(HALL / "hall.yaml", read_places(HALL / "places.yaml"))
    codec = codec_of("visualization_msgs/MarkerArray")
    hub = Hub()
    view = RunView(hub, live=True)
    message = {"markers": changed_markers(None, team_scene(building, ROBOTS, WAYS), {})}
    view.on_markers(codec.decode(codec.encode(message)))
    try:
        with (
            PageServer(hub, nothing) as server,
            chromium() as browser,
            page_at(browser, server.url) as page,
        ):
            until(
                page, "[...document.querySelectorAll('svg text')].some(e => e.textContent === 'r3')"
            )
            seen = page.evaluate(
                """() => {
                    const texts = [...document.querySelectorAll('svg text')];
                    const named = texts.filter((e) => /^r[123]$/.test(e.textContent));
                    const layer = named[0].parentElement;
                    const middle = (e) => { const b = e.getBoundingClientRect();
                        return [b.x + b.width / 2, b.y + b.height / 2]; };
                    const on_top = (e) => document.elementFromPoint(...middle(e)) === e;
                    return {
                        bodies: layer.querySelectorAll('ellipse').length,
                        names: named.map((e) => e.textContent),
                        hidden: named.filter((e) => !on_top(e)).map((e) => e.textContent),
                        lines: document.querySelectorAll('svg polyline.way').length,
                    };
                }"""
            )
    finally:
        view.close()
    assert seen["names"] == ["r1", "r2", "r3"]
    assert seen["hidden"] == [], "no name lies under its robot"
    assert seen["bodies"] == 3
    assert seen["lines"] == 0, "no path of one robot that looks like that of the team"
    ways = [shape["group"] for shape in hub.value("scene")["shapes"] if "way of" in shape["group"]]
    assert ways == ["way of r1", "way of r1", "way of r2"]
