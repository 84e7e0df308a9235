"""The map editor: a floor, places drawn on it, a domain; and nothing that a hostile file can do."""

import asyncio
import base64
import io
import random
import zlib

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from browser import chromium, page_at, until, until_text
from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES, load_building
from skm_web.hub import Hub
from skm_web.map_editor import MapEditor, Starter
from skm_web.server import PageServer

ROOM = {"name": "lab", "shapes": [{"kind": "rectangle", "rectangle": [1, 1, 3, 3]}]}
PIXEL = (
    "([x, y]) => { const matrix = document.querySelector('#drawing').getScreenCTM();"
    " const at = new DOMPoint(x, 8 - y).matrixTransform(matrix); return [at.x, at.y]; }"
)


class Started(Starter):
    """Notes what it was asked to start."""

    def __init__(self):
        self.domains = []

    def start(self, domain, tell):
        self.domains.append(domain)
        tell({"domain": domain.name, "url": "http://127.0.0.1:9/"})


def ask(editor, kind, **more):
    return asyncio.run(editor.handle({"type": kind, **more}))


def send(editor, data, name="floor.png", text=""):
    """Send a file as the page does."""
    packed = zlib.compress(data)
    upload = ask(editor, "map_open", name=name, yaml=text)["upload"]
    answer = {"ok": False, "message": "empty"}
    for start in range(0, len(packed), 45000):
        part = base64.b64encode(packed[start : start + 45000]).decode()
        last = start + 45000 >= len(packed)
        answer = ask(editor, "map_part", upload=upload, data=part, last=last)
    return answer


def drag(page, start, end):
    page.mouse.move(*page.evaluate(PIXEL, start))
    page.mouse.down()
    page.mouse.move(*page.evaluate(PIXEL, end), steps=4)
    page.mouse.up()


def test_three_rooms_are_drawn_named_saved_and_started_and_a_mission_runs_there(tmp_path):
    hub, starter = Hub(), Started()
    editor = MapEditor(hub, tmp_path, starter)
    server = PageServer(hub, editor.handle, root="editor.html", downloads=editor.file)
    with server, chromium() as browser, page_at(browser, server.url) as page:
        page.wait_for_selector("#status[data-kind=live]")
        page.click("#blank")
        page.wait_for_selector("#drawing:not([hidden])")
        for name, left, right in (("kitchen", 0.1, 4), ("office", 4, 8), ("lab", 8, 11.9)):
            drag(page, (left, 7.9), (right, 4.5))  # begins at a corner of the one before
            page.keyboard.type(name)
        until_text(page, "#places-list", "cannot be reached: cut off")
        page.click("[data-tool=door]")
        for x in (2, 6, 10):
            page.mouse.click(*page.evaluate(PIXEL, (x, 4.5)))
        until_text(page, "#floor-facts", "all of them connected")
        page.click("[data-tool=circle]")
        drag(page, (6, 2), (6.5, 2))
        page.keyboard.type("wet floor")
        page.click("[data-field=avoid-3]")
        page.click("#undo")
        page.click("#redo")
        page.fill("#name", "flat")
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
        page.reload()  # the drawing is still there
        until(page, "document.querySelectorAll('#places-list input[type=text]').length === 4")
        page.wait_for_selector("#start:not([disabled])")
        page.click("#start")
        page.wait_for_selector("#robot-page")
        assert starter.domains == [tmp_path / "flat"]
    building = load_building(tmp_path / "flat")
    assert building.places.names == ("kitchen", "office", "lab", "wet_floor")
    assert building.file.constraints == ("wet_floor",)
    assert not building.unreachable
    assert main(["run", str(tmp_path / "flat"), "F(kitchen & F lab) & G !wet_floor"]) == 0


def test_everything_can_be_drawn_with_keys(tmp_path):
    hub = Hub()
    editor = MapEditor(hub, tmp_path)
    server = PageServer(hub, editor.handle, root="editor.html", downloads=editor.file)
    with server, chromium() as browser, page_at(browser, server.url) as page:
        page.wait_for_selector("#status[data-kind=live]")
        page.focus("#blank")
        page.keyboard.press("Enter")
        page.wait_for_selector("#drawing:not([hidden])")
        for tool in ("rectangle", "circle", "polygon"):
            page.focus(f"[data-tool={tool}]")
            page.keyboard.press("Enter")
            page.keyboard.type(tool)
        page.focus("#drawing [data-place='1']")
        for key in ("ArrowLeft", "ArrowLeft", "Shift+ArrowRight"):
            page.keyboard.press(key)
        page.focus("#drawing [data-place='2']")
        page.keyboard.press("Delete")
        until(page, "document.querySelectorAll('#places-list input[type=text]').length === 2")
        page.wait_for_selector("#save:not([disabled])")
        page.fill("#name", "keys")
        page.focus("#save")
        page.keyboard.press("Enter")
        until_text(page, "#answer", "saved as")
    circle = load_building(tmp_path / "keys").places.shapes["circle"][0]
    assert (round(circle.x, 3), round(circle.y, 3), round(circle.radius, 3)) == (5.8, 4.0, 1.1)


def test_a_map_with_its_yaml_comes_back_as_it_was(tmp_path):
    editor = MapEditor(Hub(), tmp_path)
    image = EXAMPLE_MAP.parent / "hall.png"
    answer = send(editor, image.read_bytes(), "hall.png", EXAMPLE_MAP.read_text())
    sheet = answer["sheet"]
    assert (sheet["width"], sheet["height"], sheet["name"]) == (16.0, 10.0, "hall")
    assert editor.file(f"maps/{sheet['map']}.png")[0] == "image/png"
    looked = ask(editor, "map_look", map=sheet["map"], width=16.0, places=[])
    assert looked["cells"] > 1000
    out = tmp_path / "again"
    assert main(["map", "--example", "--out", str(out)]) == 0
    opened = ask(editor, "map_domain", name="again")
    saved = ask(
        editor,
        "map_save",
        name="copy",
        map=opened["sheet"]["map"],
        places=opened["places"],
        robot=opened["robot"],
    )
    assert saved["ok"], saved
    one, two = load_building(out), load_building(tmp_path / "copy")
    assert one.label_sets == two.label_sets
    assert one.floor.num_cells == two.floor.num_cells
    assert ask(editor, "map_save", name="copy", map=opened["sheet"]["map"], places=[ROOM]) == {
        "ok": True,
        "exists": "copy",
    }


def test_a_path_in_a_yaml_file_is_never_followed(tmp_path):
    secret = tmp_path / "secret.png"
    Image.new("L", (50, 50), 7).save(secret)
    editor = MapEditor(Hub(), tmp_path / "out")
    packed = io.BytesIO()
    Image.new("L", (60, 40), 254).save(packed, "PNG")
    text = f"image: {secret}\nresolution: 0.1\norigin: [0, 0, 0]\n"
    sheet = send(editor, packed.getvalue(), "../../x.png", text)["sheet"]
    assert (sheet["width"], sheet["height"], sheet["name"]) == (6.0, 4.0, "x")


@pytest.mark.parametrize("name", ["../out", "/tmp/x", "a b", "", "A", "x" * 60, None, 3, "."])
def test_a_domain_goes_into_its_folder_only(tmp_path, name):
    editor = MapEditor(Hub(), tmp_path)
    sheet = ask(editor, "map_blank", width=5, height=5)["sheet"]
    answer = ask(editor, "map_save", name=name, map=sheet["map"], places=[ROOM])
    assert not answer["ok"]
    assert "small letters" in answer["message"]
    assert not ask(editor, "map_start", name=name)["ok"]
    assert list(tmp_path.iterdir()) == []


def bomb(width, height):
    packed = io.BytesIO()
    Image.new("1", (8, 8)).save(packed, "PNG")
    data = bytearray(packed.getvalue())
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


def test_hostile_pictures_are_refused_with_a_sentence(tmp_path):
    editor = MapEditor(Hub(), tmp_path)
    draws = random.Random(3)
    packed = io.BytesIO()
    Image.new("L", (40, 40), 200).save(packed, "PNG")
    good = packed.getvalue()
    hostile = [b"", b"x" * 1000, bomb(60_000, 60_000), bomb(8, 2**31 - 1), b"P5 99999 99999 255\n"]
    hostile += [b"P5 8 8 255\n" + b"1", b"GIF89a" + bytes(100), b"%!PS-Adobe\n", b"<svg/>"]
    for _ in range(150):
        data = bytearray(good)
        for _ in range(draws.randrange(1, 9)):
            data[draws.randrange(len(data))] = draws.randrange(256)
        hostile.append(bytes(data[: draws.randrange(1, len(data) + 1)]))
    for data in hostile:
        answer = send(editor, data) if data else {"ok": False, "message": "empty"}
        assert answer["ok"] or answer["message"]
    upload = ask(editor, "map_open", name="b", yaml="")["upload"]
    huge = base64.b64encode(zlib.compress(bytes(41_000_000))).decode()
    for start in range(0, len(huge), 60_000):
        last = start + 60_000 >= len(huge)
        answer = ask(
            editor, "map_part", upload=upload, data=huge[start : start + 60_000], last=last
        )
    assert "larger than 40 MB" in answer["message"]


def test_hostile_drawings_are_refused_with_a_sentence(tmp_path):
    editor = MapEditor(Hub(), tmp_path)
    sheet = ask(editor, "map_blank", width=5, height=5)["sheet"]["map"]
    wrong = [
        *({"width": value} for value in (-1, 0, 1e300, "x", float("nan"), True, [1])),
        *({"edits": value} for value in ("x", [3], [{"kind": "wall"}], [{}] * 3000)),
        {"edits": [{"kind": "wall", "line": [0, 0, 1e300, float("inf")], "width": 1}]},
        {"places": "x"},
        {"places": [{"name": "a", "shapes": [{"kind": "polygon", "polygon": [[0, 0]]}]}]},
        {"places": [{"name": "a", "shapes": [{"kind": "circle", "circle": [0, 0, 0]}]}]},
        {"places": [{"name": "a", "shapes": [{"kind": "sphere"}]}]},
        {"places": [{**ROOM, "shapes": ROOM["shapes"] * 400}]},
        *({"robot": {key: value}} for key in ("radius", "cell") for value in (-1, 1e-9, 1e9, "x")),
    ]
    for more in wrong:
        answer = ask(editor, "map_look", map=sheet, **more)
        assert not answer["ok"], more
        assert answer["message"]
    for name in ("X y", "1", "a;b", "<b>", "G", None, 7):
        places = [{**ROOM, "name": name}]
        assert not ask(editor, "map_save", name="ok", map=sheet, places=places)["ok"]
    assert not (tmp_path / "ok").exists()
    assert not ask(editor, "map_look", map="no")["ok"]
    assert not ask(editor, "shutdown")["ok"]
    with pytest.raises(SkmError, match="cannot read"):
        editor.open_file(tmp_path / "none.png")
    assert main(["map", str(EXAMPLE_MAP), "--places", str(EXAMPLE_PLACES)]) == 2
