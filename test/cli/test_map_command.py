"""`skm map`, and the folder that it makes as a domain of every command."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from skm_cli.main import main
from skm_sim import check_domain, get_domain
from skm_sim.maps import MapError
from skm_sim.maps.spec import EXAMPLE_MAP, EXAMPLE_PLACES, load_building

MISSION = "F(coffee & X F lab) & G !wet_floor"


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps") / "hall"
    assert main(["map", "--example", "--out", str(folder)]) == 0
    return folder


def said(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_json_says_what_was_made(tmp_path, capsys):
    places = tmp_path / "places.yaml"
    text = EXAMPLE_PLACES.read_text()
    more = "  moon: [{circle: [90, 0, 1]}]\n  wall: [{circle: [-7.95, 0, 0.04]}]\n"
    places.write_text(
        text.replace("constraints:", f"{more}  speck: [{{circle: [0, 0, 0.01]}}]\nconstraints:")
    )
    out = tmp_path / "hall"
    code, text, _ = said(capsys, "map", EXAMPLE_MAP, "--places", places, "--out", out, "--json")
    found = json.loads(text)
    assert code == 0
    assert found["cells"] == load_building(out).floor.num_cells > 1000
    assert ["coffee", "kitchen"] in found["label_sets"]
    assert found["unreachable"] == ["moon", "wall", "speck"]
    assert found["reasons"]["moon"] == "off the map"
    assert "walls" in found["reasons"]["wall"]
    assert "too small" in found["reasons"]["speck"]
    assert 0 < found["seconds"] < 60
    assert (out / "picture.png").stat().st_size > 10_000


def test_a_folder_is_a_domain_by_path_and_by_name(hall, capsys, monkeypatch):
    code, text, _ = said(capsys, "run", hall, MISSION, "--start=-7,-4", "--json")
    found = json.loads(text)
    assert (code, found["outcome"]) == (0, "accepted")
    monkeypatch.chdir(hall.parent)
    code, text, _ = said(capsys, "run", "hall", MISSION, "--start=-7,-4", "--json")
    assert json.loads(text)["steps"] == found["steps"]


def test_evaluation_of_random_missions_is_optimal_and_repeats(hall, capsys):
    arguments = ("eval", hall, "--missions", "6", "--episodes", "15", "--seed", "3", "--json")
    found = json.loads(said(capsys, *arguments)[1])
    assert (found["success"], found["violations"]) == (1.0, 0)
    assert found["return_ratio"] == pytest.approx(1.0, abs=1e-9)
    assert len({trial["mission"] for trial in found["missions"]}) == 6
    again = json.loads(said(capsys, *arguments)[1])
    assert again == found


def test_random_missions_go_with_any_domain(capsys):
    arguments = ("eval", "office", "--missions", "4", "--episodes", "10", "--json")
    found = json.loads(said(capsys, *arguments)[1])
    assert found["success"] == 1.0
    assert found["return_ratio"] == pytest.approx(1.0)


def test_the_domain_passes_the_check_of_domains(hall):
    assert check_domain(get_domain(str(hall))) == []


def test_a_run_is_drawn(hall, tmp_path, capsys):
    picture = tmp_path / "run.png"
    assert said(capsys, "run", hall, MISSION, "--render", picture)[0] == 0
    with Image.open(picture) as image:
        assert np.asarray(image).std() > 10
    values = tmp_path / "values.png"
    assert said(capsys, "plot", "values", hall, "--out", values)[0] == 0
    assert values.stat().st_size > 10_000


def test_a_folder_can_be_moved_but_not_changed_behind_its_back(hall, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.copytree(hall, moved)
    assert get_domain(str(moved)).name == "hall"
    assert load_building(moved).floor.num_cells == load_building(hall).floor.num_cells
    places = moved / "places.yaml"
    places.write_text(places.read_text().replace("0.55", "0.65"))
    (moved / "domain.json").touch()
    with pytest.raises(MapError, match="have changed since"):
        load_building(moved)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["map", "--out", "x"], "name a map and its places"),
        (["map", "--example", "--out", "x", "--cell", "-1"], "cell must be greater than 0"),
        (["map", "--example", "--out", "x", "--radius", "9"], "fits nowhere"),
        (["map", "no.yaml", "--places", str(EXAMPLE_PLACES), "--out", "x"], "cannot read no.yaml"),
        (
            ["map", str(EXAMPLE_MAP), "--places", str(EXAMPLE_MAP), "--out", "x"],
            "unknown key 'image'",
        ),
        (["run", ".", "F a"], "holds no domain"),
    ],
)
def test_mistakes_are_told_in_words(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = said(capsys, *arguments)
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_a_start_in_a_wall_names_the_nearest_cell(hall, capsys):
    code, _, err = said(capsys, "run", hall, "F lab", "--start=-7.95,0")
    assert code == 2
    assert "The nearest cell is at (-7.6" in err


def test_an_impossible_mission_says_why(hall, capsys):
    code, _, err = said(capsys, "run", hall, "F(coffee & !kitchen)")
    assert code == 2
    assert "nothing that the robot can reach satisfies" in err


def test_check_knows_the_building(hall, capsys, tmp_path):
    mission = "F(coffee & X F(office & X F dock)) & G !stairs"
    drawing = tmp_path / "machine.svg"
    code, text, _ = said(capsys, "check", mission, "--domain", hall, "--json", "--draw", drawing)
    found = json.loads(text)
    assert code == 0
    visited = [labels for labels in found["witness"] if labels not in ([], ["kitchen"])]
    assert visited == [["coffee", "kitchen"], ["office"], ["dock"]]
    assert len(found["witness"]) > 40  # from place to place, step by step
    assert found["counterexample"] == [["lobby", "stairs"]]
    metres, seconds = found["map"]["metres"], found["map"]["seconds"]
    assert 3 < metres["least"] < metres["mean"] < metres["most"] < 60
    assert seconds["mean"] == pytest.approx(metres["mean"] / 0.5)
    legs = {leg["state"]: leg["metres"] for leg in found["map"]["legs"]}
    assert sum(legs.values()) == pytest.approx(metres["mean"], rel=0.3)
    assert 0.99 < found["map"]["possible"] < 1  # not from deep in the stairs
    assert "<svg" in drawing.read_text()
    code, text, _ = said(capsys, "check", mission, "--domain", hall)
    assert "on this map:" in text


def test_check_says_what_the_building_lacks(hall, capsys):
    code, text, _ = said(capsys, "check", "F(coffee & lab)", "--domain", hall)
    assert code == 1
    assert "nothing that the robot can reach satisfies 'coffee & lab'" in text


def test_check_takes_the_seconds_that_a_robot_on_the_map_takes(hall, capsys):
    code, out, _ = said(capsys, "check", "F[0s,5s] office", "--domain", hall)
    assert code == 0
    assert "after_5s: the window of 'F[0s,5s] office' is over" in " ".join(out.split())
    assert "its deadlines can be met at that speed from" in out
    code, out, _ = said(capsys, "check", "F(coffee & X G[0s,10s] coffee)", "--domain", hall)
    assert code == 0
    assert "it can be done from every cell" in out


def test_a_margin_keeps_the_way_off_what_is_forbidden(tmp_path, capsys):
    """Along the corridor past the wet floor, with and without a margin of 0.3 m."""
    way = "F lab & G !wet_floor"
    nearest = []
    for margin in ("0.0", "0.3"):
        places = tmp_path / f"places{margin}.yaml"
        places.write_text(EXAMPLE_PLACES.read_text().replace("margin: 0.0", f"margin: {margin}"))
        folder = tmp_path / f"hall{margin}"
        said(capsys, "map", EXAMPLE_MAP, "--places", places, "--out", folder, "--no-picture")
        found = json.loads(said(capsys, "run", folder, way, "--start=-7,-4", "--json")[1])
        assert found["outcome"] == "accepted"
        floor, cell, cells = load_building(folder).floor, None, []
        cell = floor.cell_at(-7, -4)
        for action in found["actions"]:
            cell = int(floor.moves[cell, action])
            cells.append(cell)
        index = load_building(folder).places.names.index("wet_floor")
        nearest.append(load_building(folder).places.distances(floor.centres[cells])[:, index].min())
    assert nearest[0] < 0.3 < nearest[1]


def test_four_neighbours_and_the_papers_planner(tmp_path, capsys):
    folder = tmp_path / "hall4"
    said(
        capsys,
        "map",
        "--example",
        "--out",
        folder,
        "--neighbours",
        "4",
        "--cell",
        "0.4",
        "--no-picture",
    )
    assert get_domain(str(folder)).make().action_space.n == 4
    arguments = ("--missions", "3", "--episodes", "5", "--planner", "paper", "--json")
    found = json.loads(said(capsys, "eval", folder, *arguments)[1])
    assert found["runs"] == 15
    assert found["success"] > 0.5


def test_a_folder_with_other_files_is_left_alone(tmp_path, capsys):
    (tmp_path / "map.yaml").write_text("mine")
    code, _, err = said(capsys, "map", "--example", "--out", tmp_path)
    assert code == 2
    assert "holds other files" in err
    assert (tmp_path / "map.yaml").read_text() == "mine"


def test_a_folder_is_made_again_in_its_place(hall, tmp_path, capsys):
    folder = tmp_path / "hall"
    shutil.copytree(hall, folder)
    places = folder / "places.yaml"
    places.write_text(places.read_text().replace("0.55", "0.65"))
    arguments = (folder / "map.yaml", "--places", places, "--out", folder, "--no-picture")
    assert said(capsys, "map", *arguments)[0] == 0
    assert said(capsys, "run", folder, "F lab")[0] == 0
