"""What must not change while the code moves has not changed: see `golden.py`."""

import pytest

import golden


@pytest.mark.parametrize("part", golden.PARTS)
def test_behaviour_is_as_it_was_recorded(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert golden.compare(part) == []


def test_differences_are_found_exactly_but_for_the_noise_of_floats():
    was = {"a": [1, 2.0, "x"], "b": {"c": True}}
    assert list(golden.differences(was, {"a": [1, 2.000001, "x"], "b": {"c": True}})) == []
    for other in ({"a": [1, 2.1, "x"], "b": {"c": True}}, {"a": [1, 2.0], "b": {"c": True}}):
        assert list(golden.differences(was, other))
    assert list(golden.differences(was, {"a": [1, 2.0, "y"], "b": {}})) == [
        "/a[2]: 'x' then, 'y' now",
        "/b/c: only then",
    ]
