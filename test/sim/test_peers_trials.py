"""`skm bench peers`: the formulas that are drawn, and a whole measurement, small."""

from skm_bench.peers.flat_world import FLAT_WORLD
from skm_bench.peers.missions import drawn_formulas
from skm_bench.peers.trials import measure_world, peers_world
from skm_machine import compile_mission


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


def test_zones_is_the_shipped_domain():
    assert peers_world("zones").checkpoint
