"""`skm plot`: which pictures there are, what is in them, and refusals."""

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import pytest

from skm_cli.commands import plot as plot_command
from skm_machine.errors import SkmError
from skm_machine.tracker import Status, Transition
from skm_primitives.evaluation.task_trials import RoundsEvaluation, RoundsTask
from skm_primitives.execution.episodes import Episode
from skm_primitives.few_shot.tabular import COLUMNS
from skm_primitives.figures.finetune_curve import learning_curve_figure
from skm_primitives.figures.primitive_values import primitive_values
from skm_primitives.figures.returns import returns_figure
from skm_primitives.figures.task_paths import machine_states
from skm_primitives.skills.loading import load_primitives
from skm_sim.office.env import OFFICE_MAP
from skm_sim.office.trajectories import outcome_text
from skm_sim.registry import get_domain


def plot(*arguments):
    parser = argparse.ArgumentParser(prog="skm")
    plot_command.add_parser(parser.add_subparsers())
    args = parser.parse_args(["plot", *map(str, arguments)])
    return args.run(args)


def test_values_show_all_eleven_primitives(tmp_path, capsys):
    out = tmp_path / "new" / "v.png"
    assert plot("values", "office", "--out", out, "--dpi", 30, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["primitives"]) == 11
    assert document["primitives"][-1] == "constraint: decoration"
    assert document["out"] == str(out)
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_primitive_s_value_is_one_next_to_it_and_falls_with_distance():
    primitives = load_primitives(get_domain("office"))
    value, action = primitive_values(primitives, OFFICE_MAP.num_cells, "A", constraint=False)
    cells = [OFFICE_MAP.cell_at((2, column)) for column in (3, 4, 5)]
    np.testing.assert_allclose(value[cells], [1, 0.9, 0.81], rtol=1e-6)
    assert action[cells].tolist() == [3, 3, 3]


def test_trajectories_say_zero_shot_and_few_shot_steps(tmp_path, capsys):
    plot("trajectories", "office", "--task", "coffee_mail", "--starts", "5,13", "2,6",
         "--finetune-steps", 60_000, "--out", tmp_path / "t.png", "--dpi", 30, "--json")  # fmt: skip
    steps = json.loads(capsys.readouterr().out)["steps"]["coffee_mail"]
    assert steps == {"zero-shot": [44, None], "few-shot": [26, steps["few-shot"][1]]}
    assert steps["few-shot"][1] is not None


def test_without_finetuning_there_is_a_zero_shot_panel_a_task(tmp_path, capsys):
    plot("trajectories", "office_absorbing", "--planner", "product", "--out", tmp_path / "t.png",
         "--dpi", 30, "--json")  # fmt: skip
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert steps == {"coffee": {"zero-shot": [28, 20]}, "coffee_strict": {"zero-shot": [24, 18]}}


def test_titles_say_how_many_runs_failed():
    assert outcome_text([3, None]) == "3 steps, 1 not solved"
    assert outcome_text([3, 4]) == "3, 4 steps"
    assert outcome_text([None]) == "1 not solved"


def test_a_curve_is_drawn_between_the_zero_shot_level_and_the_optimum():
    figure = learning_curve_figure(
        [(0, 0, 0.5, 1, 3, 0.5), (4000, 9, 1, 1, 2, 0.8)], COLUMNS, "title"
    )
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == [
        "optimum",
        "few-shot: 100.0%",
        "the paper's rule on the same Q: 80.0%",
        "zero-shot: 50.0%",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["value", "office"], "did you mean 'values'"),
        (["values", "office", "--out", "v.txt"], r"not 'v.txt'"),
        (["values", "office", "--dpi", 1], "--dpi is 1"),
        (["trajectories", "office", "--starts", "2;2"], "not '2;2'"),
        (["trajectories", "office", "--starts", "0,0"], "a wall"),
        (["trajectories", "office", "--finetuned", "coffee"], "TASK=FILE"),
        (["trajectories", "office", "--task", "tea"], "no task 'tea'"),
        (["returns", "moving_targets", "--episodes", 0], "--episodes is 0"),
        (["returns", "moving_targets", "--starts", "2,2"], "are for trajectories"),
        (["returns", "office"], "no reference"),
        (["values", "safety"], "no map"),
        (["trajectories", "safety", "--finetune-steps", 5], "tabular domains"),
        (["calibration", "office"], "no batch of values"),
        (["return", "moving_targets"], "did you mean 'returns'"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(SkmError, match=message):
        plot(*arguments)


def test_safety_paths_have_the_colour_of_the_machine_state(tmp_path, capsys):
    out = tmp_path / "s.png"
    arguments = ("trajectories", "safety", "--task", "1", "--seed", 5, "--dpi", 30)
    assert plot(*arguments, "--out", out, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["planner"] == "product"
    assert document["tasks"]["1"]["outcome"] == "accepted"
    assert out.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SkmError, match="a gridworld"):
        plot("trajectories", "safety", "--starts", "2,2", "--out", out)


def test_machine_states_change_with_the_step_after_a_transition():
    moves = (Transition(2, 0, 1, frozenset(), 0.0), Transition(3, 1, 2, frozenset(), 1.0))
    episode = Episode(Status.ACCEPTED, 3, 1.0, 1.0, 1, moves, (), ())
    assert machine_states(episode) == [0, 0, 1]


def test_returns_stand_beside_the_reference_on_the_same_boards(tmp_path, capsys):
    out = tmp_path / "r.png"
    arguments = ("returns", "moving_targets", "--task", "2", "4", "--episodes", 2, "--dpi", 30)
    assert plot(*arguments, "--out", out, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["planner"] == "product"
    assert list(document["tasks"]) == ["2", "4"]
    assert all(result["episodes"] == 2 for result in document["tasks"].values())
    assert out.read_bytes().startswith(b"\x89PNG")


def test_bars_are_as_high_as_the_means_and_errors_as_long_as_the_intervals():
    task = RoundsTask("F a", 50, 3.0, (2.0, 4.5), 4.0, (3.5, 4.5), 0.0, (0.0, 0.3), 9)
    found = RoundsEvaluation("line", "product", 0, "", {"1": task})
    axes = returns_figure(found, "Line").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [4.0, 3.0]
    lines = [bars.lines[2][0].get_segments()[0][:, 1].tolist() for bars in axes.containers[::2]]
    assert lines == [[3.5, 4.5], [2.0, 4.5]]
    assert "75.0% of the reference" in axes.get_xticklabels()[0].get_text()


def test_the_curve_is_that_of_the_shipped_checkpoint_and_of_the_documents(tmp_path, capsys):
    out = tmp_path / "c.png"
    assert plot("curve", "moving_targets", "--out", out, "--dpi", 30, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    data = Path(__file__).parents[2] / "docs" / "data" / "moving_targets_curve.csv"
    with data.open(newline="") as file:
        rows = [{key: float(text) for key, text in row.items()} for row in csv.DictReader(file)]
    assert document["curve"] == rows
    chance = document["random"]
    assert chance["only"] < chance["kind"] < chance["colour"] < chance["shape"] < 0.75
    assert all(rows[0][group] > chance[group] for group in chance)
    assert out.read_bytes().startswith(b"\x89PNG")
