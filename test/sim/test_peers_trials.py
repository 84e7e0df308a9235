"""`skm bench peers`: the formulas that are drawn, and a whole measurement, small."""

import signal

import pytest

from skm_bench.peers.flat_world import FLAT_WORLD
from skm_bench.peers.markdown import peers_markdown
from skm_bench.peers.missions import drawn_formulas
from skm_bench.peers.picture import peers_figure
from skm_bench.peers.trials import combined, measure_world, peers_world, summary
from skm_machine import compile_mission
from skm_machine.errors import SkmError
from skm_primitives.learning.goal_conditioned import GoalConditionedLearner
from skm_primitives.skills.checkpoint import load


def test_formulas_are_the_same_each_time_and_of_both_families():
    overlaps = [frozenset({"red", "magenta"}), frozenset({"blue", "green", "aqua"})]
    texts = drawn_formulas(FLAT_WORLD, overlaps, 40)
    assert texts == drawn_formulas(FLAT_WORLD, overlaps, 40)
    assert len(set(texts)) == 40
    assert sum(text.startswith("F (") for text in texts) == 20
    assert any("(magenta & red)" in text for text in texts)
    for text in texts:
        assert compile_mission(text, propositions=FLAT_WORLD.propositions).machine.satisfiable


def test_a_world_is_measured_and_nothing_is_learned_twice(tmp_path):
    said = []
    first = measure_world("flat_world", [3], 1, 1, tmp_path, 1900, said.append)
    assert [row["task"] for row in first["tasks"]] == ["1", "2", "3", "4", "5"]
    assert first["training"][0]["steps"] >= 1900
    assert first["tasks"][3]["published"] == {"success": 0.860, "steps": 43.9}
    assert 0 <= first["interval"][0] <= first["interquartile_mean"] <= first["interval"][1] <= 1
    assert len(first["recurring"]) == 2
    assert first["formulas"]["runs"] == 5
    assert any("of learning" in text for text in said)
    said.clear()
    assert measure_world("flat_world", [3], 1, 1, tmp_path, 1900, said.append) == first
    assert not any("of learning" in text for text in said)


def test_what_was_interrupted_is_not_measured_and_goes_on_later(tmp_path, monkeypatch):
    run_round, said = GoalConditionedLearner.run_round, []

    def interrupted_round(learner):
        run_round(learner)
        signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(GoalConditionedLearner, "run_round", interrupted_round)
        with pytest.raises(KeyboardInterrupt):
            measure_world("flat_world", [3], 1, 1, tmp_path, 3000, said.append)
    assert not said
    begun = load(tmp_path / "flat_world_seed3.safetensors")[1].steps
    found = measure_world("flat_world", [3], 1, 1, tmp_path, 3000, said.append)
    assert begun < 3000 <= found["training"][0]["steps"]


def test_seeds_measured_apart_are_put_together(tmp_path):
    def seed(number, success, over):
        row = {"success": success, "violations": 0.0, "steps": 8.0, "over_optimum": over}
        tasks = {str(task): row for task in range(1, 10)}
        run = {"mission": "F a", "success": 1.0, "violations": 0.0, "episodes": 5}
        empty = {"steps": 10, "cpu_seconds": 1.0, "recurring": [], "formulas": [run]}
        return summary("letter_world", 4, [{"seed": number, "tasks": tasks, **empty}])

    (found,) = combined([seed(2, 1.0, 1.0), seed(1, 0.5, 1.1)])
    assert found["seeds"] == [1, 2]
    assert found["formulas"]["runs"] == 10
    assert found["tasks"][0]["success"] == pytest.approx(0.75)
    assert found["tasks"][0]["worst_seed"] == 0.5
    assert found["over_optimum"] == pytest.approx(1.05)
    assert found["over_optimum_interval"][0] < 1.05 < found["over_optimum_interval"][1]
    peers_figure([found]).savefig(tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000
    assert found["tasks"][0]["worst_over_optimum"] == 1.1
    table = peers_markdown([found])
    assert "| 0.7500 | 0.500 | 0 | 8.0 | 1.050 | 1.100 | 0.999, 9.7 |" in table.splitlines()[2]
    assert "- Training seed 1: 10 steps, 1 CPU seconds." in table
    assert "a \\| b" in table, "a bar in a mission is no column"
    assert "- Formulas: 10 runs, success 1.0000, violated 0.0000." in table
    assert "interval: 0.7500 [0." in table
    assert "no interval" in peers_markdown(combined([seed(2, 1.0, 1.0)]))
    other = {**seed(3, 1.0, 1.0), "starts": 5}
    with pytest.raises(SkmError, match="measure all from as many"):
        combined([found, other])


def test_zones_is_the_shipped_domain():
    assert peers_world("zones").checkpoint
