"""Labels from other nodes' messages: hysteresis, silence, and files that make no sense."""

from types import SimpleNamespace

import pytest

from skm_sim.maps.yaml_file import MapError
from skm_sim.robots.signals import Signal, read_signals

BATTERY = '{topic: /battery, when: "percentage < 0.2", hysteresis: 0.05'


def signal(tmp_path, text):
    (tmp_path / "labels.yaml").write_text(f"labels:\n  low: {text}\n")
    (spec,) = read_signals(tmp_path / "labels.yaml")
    return Signal(spec, 0.0)


def heard(made, percentage, now):
    made.hear(SimpleNamespace(percentage=percentage), now)
    return made.holds(now)


def test_a_label_that_holds_goes_on_until_it_is_missed_by_more_than_its_hysteresis(tmp_path):
    made = signal(tmp_path, f"{BATTERY}}}")
    assert not heard(made, 0.22, 1.0)
    assert heard(made, 0.19, 2.0)
    assert heard(made, 0.24, 3.0)
    assert not heard(made, 0.26, 4.0)
    assert not heard(made, 0.24, 5.0)


@pytest.mark.parametrize(
    ("stale", "holds", "stops"),
    [("keep", False, False), ("event", True, False), ("stop", False, True)],
)
def test_silence_is_kept_or_an_event_or_a_stop(tmp_path, stale, holds, stops):
    made = signal(tmp_path, f"{BATTERY}, stale: {stale}, timeout: 5}}")
    assert not heard(made, 0.5, 1.0)
    assert not made.stops(5.9)
    assert made.holds(6.1) is holds
    assert ("/battery" in made.stops(6.1)) is stops
    assert not heard(made, 0.5, 7.0)
    assert not made.stops(7.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("labels: {}", "must be such as"),
        ("labels: {low: 1}", "must be such as"),
        ("labels: {low: {topic: /a}}", "needs a when"),
        ("labels: {low: {topic: /a, when: 'a <'}}", "ends too early"),
        ("labels: {low: {topic: /a, when: a, stale: never}}", "one of keep"),
        ("labels: {low: {topic: /a, when: a, type: Bool}}", "std_msgs/msg/Bool"),
        ("labels: {low: {topic: /a, when: a, timeout: 0}}", "timeout"),
        ("labels: {low: {topic: /a, when: a, hysteresis: -1}}", "hysteresis"),
        ("labels: {low: {topic: /a, when: a, typ: b}}", "typ"),
        ("labels: {G: {topic: /a, when: a}}", "G"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, complaint):
    (tmp_path / "labels.yaml").write_text(text)
    with pytest.raises(MapError, match=complaint):
        read_signals(tmp_path / "labels.yaml")
