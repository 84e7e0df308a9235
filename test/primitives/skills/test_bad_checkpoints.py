"""Checkpoints that are not what they should be: a sentence each, and never a hang or a traceback."""

import json

import numpy as np
import pytest

from skm_cli.main import main
from skm_primitives.skills.checkpoint import CheckpointError, card_path, load, save
from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_sim import get_domain


@pytest.fixture
def changed(tmp_path):
    """Return a function that copies a shipped checkpoint with changes, and returns its path."""

    def change(domain, arrays=None, details=None):
        old, card = load(default_checkpoint(get_domain(domain)))
        new = {**old, **(arrays or (lambda _: {}))(old)}
        kept = {name: array for name, array in new.items() if array is not None}
        path = tmp_path / f"{domain}.safetensors"
        card.details.update(details or {})
        save(path, kept, card)
        return path

    return change


def spoilt(old, name):
    array = old[name].copy()
    array.flat[3] = np.nan
    return {name: array}


@pytest.mark.parametrize(
    ("domain", "name"),
    [("safety", "goal_to_goal"), ("moving_targets", "goal_to_goal"), ("office", "move")],
)
def test_not_a_number_is_refused_instead_of_planned_with_for_ever(changed, capsys, domain, name):
    path = changed(domain, lambda old: spoilt(old, name))
    proposition = get_domain(domain).propositions[0]
    assert main(["run", domain, f"F {proposition}", "--checkpoint", str(path)]) == 2
    assert f"'{name}' holds not-a-number" in capsys.readouterr().err


def test_a_run_does_not_go_on_from_not_a_number(changed, capsys):
    path = changed("office", lambda old: spoilt(old, "move"))
    assert main(["train", "office", "--steps", "200000", "--out", str(path), "--resume"]) == 2
    assert "'move' holds not-a-number" in capsys.readouterr().err


SHAPES = [
    ("office", {"next_state": lambda a: a[:-1]}, "'next_state' has the shape"),
    ("office", {"visits": lambda a: a[:, :-1]}, "'visits' has the shape"),
    ("office", {"move": lambda a: a[0]}, "'move' has the shape"),
    ("office", {"changed": lambda _: None}, "changed"),
    ("safety", {"goal_to_goal": lambda a: a[:, :-1]}, "'goal_to_goal' has the shape"),
    ("safety", {"goal_seen": lambda a: a[:-1]}, "'goal_seen' has the shape"),
    ("safety", {"network.weights.0": lambda _: None}, "do not fit"),
    ("moving_targets", {"goal_to_goal": lambda a: a[:-1]}, "'goal_to_goal' has the shape"),
    ("moving_targets", {"network.patch.weight": lambda _: None}, "network|patch"),
]


@pytest.mark.parametrize(("domain", "arrays", "message"), SHAPES)
def test_missing_and_misshapen_arrays(changed, domain, arrays, message):
    path = changed(domain, lambda old: {name: make(old[name]) for name, make in arrays.items()})
    with pytest.raises(CheckpointError, match=message):
        load_primitives(domain, path)


DETAILS = [
    ("office", {"settings": {"colour": "red"}}),
    ("office", {"gamma": "much"}),
    ("safety", {"label_bits": "none"}),
    ("safety", {"algorithm": "magic"}),
    ("moving_targets", {"learning_gamma": None}),
]


@pytest.mark.parametrize(("domain", "details"), DETAILS)
def test_a_card_with_wrong_details(changed, capsys, domain, details):
    path = changed(domain, details=details)
    proposition = get_domain(domain).propositions[0]
    assert main(["run", domain, f"F {proposition}", "--checkpoint", str(path)]) == 2
    assert capsys.readouterr().err.startswith("skm: ")


def test_a_card_whose_details_are_no_object(changed, capsys):
    path = changed("office")
    document = json.loads(card_path(path).read_text())
    card_path(path).write_text(json.dumps({**document, "details": [1, 2]}))
    assert main(["run", "office", "F mail", "--checkpoint", str(path)]) == 2
    assert "details are not a JSON object" in capsys.readouterr().err
