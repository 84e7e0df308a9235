"""`skm run` and `skm eval` on the office, as people and programs call them."""

import json

import pytest
from PIL import Image

from skm_cli.main import main
from skm_sim import get_domain
from skm_web.mission_check import MissionContext, check_mission

COFFEE = "F(coffee & X F office) & G !decoration"


def call(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_run_reports_what_happened(capsys):
    code, out, _ = call(capsys, "run", "office", COFFEE, "--start", "2,2", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["outcome"] == "accepted"
    assert report["steps"] == 8 == len(report["actions"])
    assert [step["labels"][0] for step in report["transitions"]] == ["coffee", "office"]


def test_run_and_check_say_which_reading_was_taken_and_so_does_the_page(capsys):
    """`X G !p` had an end, unlike `G !p`, and `skm run` did not say how it was read."""
    context = MissionContext(get_domain("office").propositions)
    for text, kind in (
        ("X G !decoration", "a recurring mission"),
        (COFFEE, "a mission with an end"),
    ):
        for command in ("run", "office", text, "--max-steps", "60"), ("check", text):
            assert f"read as {kind}: " in call(capsys, *command)[1]
        report = json.loads(call(capsys, "run", "office", text, "--max-steps", "60", "--json")[1])
        assert report["reading"]["recurring"] == (kind == "a recurring mission")
        assert check_mission(text, context)["reading"].startswith(kind)


def test_run_says_that_a_mission_gets_nowhere(capsys):
    strict = "F office & (!office U coffee)"
    arguments = ("run", "office_absorbing", strict, "--planner", "paper")
    code, out, _ = call(capsys, *arguments, "--json")
    report = json.loads(out)
    assert (code, report["outcome"]) == (1, "no progress")
    assert report["steps"] < 1000
    assert f"no progress after {report['steps']} steps" in call(capsys, *arguments)[1]


def test_run_is_a_function_of_the_seed(capsys):
    runs = [
        call(capsys, "run", "office", COFFEE, "--seed", str(seed), "--json")[1]
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert json.loads(runs[0])["actions"] != json.loads(runs[2])["actions"]


def test_run_prints_for_people_and_draws(capsys, tmp_path):
    png, gif = tmp_path / "run.png", tmp_path / "run.gif"
    code, out, _ = call(capsys, "run", "office", COFFEE, "--start", "2,2", "--render", str(png))
    assert code == 0
    assert "accepted after 8 steps" in out
    with Image.open(png) as picture:
        assert picture.size[0] > 200
    svg = tmp_path / "run.svg"
    assert call(capsys, "run", "office", COFFEE, "--start", "2,2", "--render", str(svg))[0] == 0
    assert "<!-- in state u1 -->" in svg.read_text()  # the legend; letters are drawn as paths
    assert svg.read_text().count("<svg") == 3  # the run, and its machine below it
    assert call(capsys, "run", "office", COFFEE, "--start", "2,2", "--render", str(gif))[0] == 0
    with Image.open(gif) as film:
        assert film.n_frames > 4


def test_run_films_every_state_of_a_board_from_the_first_to_the_last(capsys, tmp_path):
    gif = tmp_path / "run.gif"
    code, out, _ = call(capsys, "run", "moving_targets", "F blue", "--render", str(gif), "--json")
    assert code == 0
    with Image.open(gif) as film:
        assert film.n_frames == json.loads(out)["steps"] + 1
        assert film.size[0] > 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "office", "F cofee"], "did you mean 'coffee'"),
        (["run", "office", "F(coffee & office)"], "nothing that the robot can reach satisfies"),
        (["run", "office", COFFEE, "--start", "0,0"], "free cell"),
        (["run", "office", COFFEE, "--start", "here"], "a row and a column"),
        (["run", "office", COFFEE, "--render", "x.bmp"], ".png, .svg or .gif"),
        (["run", "offce", COFFEE], "office"),
        (["eval", "office", "--task", "cofee"], "coffee"),
        (["eval", "kitchen"], "unknown domain"),
        (["eval", "office", "--seeds", "0"], "at least 1"),
        (["eval", "office", "--epsilon", "7"], "between 0 and 1"),
    ],
)
def test_bad_input_gives_a_clear_error_and_exit_code_2(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_a_mission_that_fails_gives_exit_code_1(capsys):
    arguments = (
        "run",
        "office",
        COFFEE,
        "--start",
        "6,2",
        "--planner",
        "paper",
        "--max-steps",
        "50",
    )
    assert call(capsys, *arguments)[0] == 1


def test_eval_json(capsys):
    code, out, _ = call(capsys, "eval", "office", "--task", "coffee", "--json")
    report = json.loads(out)["tasks"]["coffee"]
    assert code == 0
    assert report["success"] == 1.0
    assert report["return_ratio"] == pytest.approx(1.0)
    assert report["mean_steps"] == report["optimal_steps"]
    assert report["violations"] == 0
    assert report["all_starts"]["starts"] == 120
    assert report["constraint_starts"]["starts"] == 6


def rows_of(out):
    """Return the figures of a table, by task and starts: success, ratio and so on."""
    rows, task = {}, ""
    for line in out.splitlines():
        words = line.split()
        if words[1:2] == ["all"]:
            task, *words = words
        if words[1:2] == ["clear"] or words[:1] == ["all"]:
            starts = " ".join(words[:2])
            rows[task, starts] = [float(word) for word in words[2:] if word != "–"]
    return rows


def test_eval_prints_all_starts_and_apart_those_on_no_constraint(capsys):
    """The paper's planner loses the starts on a decoration: 0.95 of all, not 1.000."""
    code, out, _ = call(capsys, "eval", "office", "--task", "coffee", "--planner", "paper")
    assert code == 0
    rows = rows_of(out)
    assert rows["coffee", "all 120"][0] == pytest.approx(114 / 120)
    assert rows["coffee", "114 clear"][0] == 1.0
    assert "clear: starts on which no constraint holds" in out


def test_starts_are_counted_once_however_many_seeds_there_are(capsys):
    out = call(capsys, "eval", "office", "--task", "coffee", "--seeds", "2", "--json")[1]
    task = json.loads(out)["tasks"]["coffee"]
    assert (task["starts"], task["all_starts"]["starts"]) == (114, 120)


def test_eval_can_restrict_the_papers_planner_to_what_occurs(capsys):
    arguments = ("office_absorbing", "--task", "coffee_strict", "--planner", "paper")
    code, out, _ = call(capsys, "eval", *arguments, "--possible-only", "--json")
    report = json.loads(out)
    assert (code, report["planner"]) == (0, "paper, possible only")
    assert report["tasks"]["coffee_strict"]["success"] > 0.5
    strict = "F office & (!office U coffee)"
    arguments = ("run", "office", strict, "--planner", "paper", "--start", "2,2")
    assert call(capsys, *arguments)[0] == 1
    assert call(capsys, *arguments, "--possible-only")[0] == 0


def test_eval_prints_a_table(capsys):
    code, out, _ = call(capsys, "eval", "office_absorbing", "--planner", "paper")
    assert code == 0
    assert "coffee_strict" in out
    assert "impossible are left out" in out
