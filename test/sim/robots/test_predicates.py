"""Conditions on messages: what they mean, and that nothing of them is run as code."""

from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skm_sim.robots.predicates import PredicateError, parse_predicate

BATTERY = SimpleNamespace(
    percentage=0.15,
    charging=False,
    cells=[3.7, 3.5],
    name="main",
    pose=SimpleNamespace(position=SimpleNamespace(x=1.0, z=-0.4)),
    nothing=float("nan"),
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("percentage < 0.2", True),
        ("percentage >= 0.2", False),
        ("percentage < 0.2 and not charging", True),
        ("charging or percentage > 0.9", False),
        ("not (charging or percentage > 0.9)", True),
        ("cells[1] == 3.5", True),
        ("min(cells) < 3.6 and len(cells) == 2", True),
        ("abs(pose.position.z) >= .4", True),
        ("pose.position.x == -1e0", False),
        ("name == 'main' and name != \"spare\"", True),
        ("charging == false", True),
        ("nothing < 1 or nothing > 1", False),
    ],
)
def test_what_a_condition_means(text, holds):
    assert parse_predicate(text).holds(BATTERY) is holds


def test_slack_moves_the_border_in_favour_of_the_condition():
    low, high = parse_predicate("percentage < 0.1"), parse_predicate("not percentage < 0.2")
    assert not low.holds(BATTERY)
    assert low.holds(BATTERY, 0.06)
    assert not high.holds(BATTERY)
    assert high.holds(BATTERY, 0.06)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "<",
            "percentage <",
            "percentage < <",
            "(charging",
            "charging)",
            "a b",
            "cells[x] < 1",
        ),
        *("percentage < other", "and", "not", "cells[-1] > 1", "a..b", "$a < 1", "a = 1", "1 < a"),
        *(
            "__import__('os')",
            "exec(name)",
            "percentage < 0.2; charging",
            "(" * 60 + "a" + ")" * 60,
        ),
        "a" * 2000,
    ],
)
def test_what_is_no_condition_is_said(text):
    with pytest.raises(PredicateError, match="condition"):
        parse_predicate(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("percent < 1", "no field percent"),
        ("cells[7] < 1", r"no field cells\[7\]"),
        ("name < 1", "not a number"),
        ("charging < 1", "only be =="),
        ("__class__ == 'x'", "no field"),
        ("cells.append == 1", "no field"),
        ("percentage.__class__.__name__ == 'float'", "no field"),
    ],
)
def test_what_does_not_fit_the_message_is_said(text, complaint):
    with pytest.raises(PredicateError, match=complaint):
        parse_predicate(text).holds(BATTERY)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    with suppress(PredicateError):
        parse_predicate(text).holds(BATTERY)
