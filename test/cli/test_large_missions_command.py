"""Large missions and teams from the command line."""

import json

import pytest

from skm_cli.main import main


def printed(capsys, *arguments):
    code = main(list(arguments))
    return code, capsys.readouterr().out


STATIONS = [
    (-7, -4), (-5, -3), (-2, -3), (0, -4), (2, -3), (5, -2),
    (6, 2), (4, 3), (1, 3), (-1, 2), (-5, 3), (-7, 2),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The hall with twelve stations."""
    places = "".join(
        f"  s{i}: [{{circle: [{x}, {y}, 0.4]}}]\n" for i, (x, y) in enumerate(STATIONS)
    )
    there = tmp_path_factory.mktemp("stations")
    (there / "places.yaml").write_text(f"places:\n{places}cell: 0.25\nneighbours: 8\n")
    main(["map", "--example", "--out", str(there / "hall"), "--no-picture"])
    hall = there / "hall"
    made = there / "map"
    image = next(hall.glob("*.yaml"), None)
    maps = [path for path in hall.glob("*.yaml") if "image:" in path.read_text()]
    assert image is not None
    assert main(["map", str(maps[0]), "--places", str(there / "places.yaml"), "--out", str(made),
                 "--no-picture"]) == 0  # fmt: skip
    return made


def test_twelve_stations_are_checked_run_recorded_and_verified(capsys, folder, tmp_path):
    mission = " & ".join(f"F s{i}" for i in range(12))
    capsys.readouterr()
    code, text = printed(capsys, "check", mission, "--domain", str(folder))
    assert code == 0
    assert "12 parts of 2 states (one machine would have up to 4,096)" in text
    code, text = printed(capsys, "check", mission, "--domain", str(folder), "--json")
    planned = json.loads(text)["plan"]
    file = tmp_path / "run.mcap"
    code, text = printed(capsys, "run", str(folder), mission, "--json", "--record", str(file))
    document = json.loads(text)
    assert code == 0
    assert document["outcome"] == "accepted"
    assert document["steps"] == document["plan"]["steps"] == planned["steps"]
    assert document["plan"]["at_least"] <= document["steps"]
    assert document["transitions"][0]["source"] == "u" + "0" * 12
    code, text = printed(capsys, "verify", str(file), "--json")
    assert code == 0, text


def test_a_team_is_run_and_its_paths_are_told(capsys, folder):
    mission = "F s0 & F s6 & F r1.s3 & !r2.s6 U r1.s3"
    robots = "r1=0.125,0.375; r2=2.125,0.625"
    code, text = printed(capsys, "run", str(folder), mission, "--robots", robots, "--json")
    document = json.loads(text)
    assert code == 0
    assert document["outcome"] == "accepted"
    assert document["collisions"] == 0
    assert {len(path) for path in document["paths"].values()} == {document["steps"] + 1}
    assert document["paths"]["r1"][0] == [0.125, 0.375]
    more = ["--gone", "r1@3", "--json"]
    code, text = printed(capsys, "run", str(folder), mission, "--robots", robots, *more)
    assert code == 1
    assert json.loads(text)["reason"] == "'r1.s3' cannot be achieved any more: r1 is gone"


@pytest.mark.parametrize(
    ("robots", "problem"),
    [
        ("r1", 'say where r1 begins: "r1=X,Y"'),
        ("1r=0,0", "'1r=0,0' is not a robot and its start"),
        ("r1=0,0; r1=1,1", "'r1=1,1' is named twice"),
        ("", "names no robot"),
        ("r1=0.125,0.375; r2=0.375,0.375", "begin too close"),
    ],
)
def test_robots_that_cannot_be_read_are_explained(capsys, folder, robots, problem):
    capsys.readouterr()
    assert main(["run", str(folder), "F s0", "--robots", robots]) == 2
    assert problem in capsys.readouterr().err
