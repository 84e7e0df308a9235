"""`skm bench patrol`, with a minute of a few seconds."""

from skm_bench import patrol as patrol_bench
from skm_bench.patrol import measure_patrol


def test_a_patrol_is_told_minute_by_minute_with_stops_that_brake(monkeypatch):
    monkeypatch.setattr(patrol_bench, "MINUTE", 4.0)
    said = []
    found = measure_patrol(
        "demo",
        "safety",
        "G F button & G F region",
        20.0,
        seed=9,
        minutes=1,
        stops=1,
        say=said.append,
    )
    (row,) = found["minutes"]
    assert len(said) == 1
    assert row["steps"] > 0
    assert row["stop_calls"] == found["stop_calls"] == 1
    assert row["stops"] >= 1
    assert 0 < found["worst_braking_ms"] < 30_000
    assert set(row["megabytes"]) == set(row["cpu"]) == {"machine", "primitives", "sim"}
    assert found["outcome"] == "cancelled"
    assert set(found["exit_codes"].values()) == {0}
