"""Domains by name: what is found, what is refused, and what is not imported for it."""

import copy
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from skm_sim import Domain, DomainError, DomainSpec, Task, domain_names, get_domain

OFFICE_TASKS = {
    "coffee": "F(coffee & X F office) & G !decoration",
    "patrol": "F(A & X F(B & X F(C & X F D))) & G !decoration",
    "coffee_mail": "(F(coffee & X F(mail & X F office)) | F(mail & X F(coffee & X F office)))"
    " & G !decoration",
    "long": "F(mail & X F(office & X(!mail U (!mail_present & mail & X F(coffee & X(!office U"
    " (!people_present & office & X F(A & X F(B & X F(C & X F(D & X F A)))))))))))"
    " & G !decoration",
}


def spec(**changes):
    fields = {
        "name": "tiny",
        "env_id": "tiny/Tiny-v0",
        "propositions": ("a", "b"),
        "constraints": ("b",),
        "gamma": 0.9,
        "primitive_steps": 10,
        "tasks": {"go": Task("go", "F a", repeat=False, max_steps=10)},
    }
    return DomainSpec(**fields | changes)


def test_the_office_has_the_names_and_numbers_of_the_paper():
    office = get_domain("office")
    assert office.env_id == "skm/Office-v0"
    assert office.propositions == (
        *("A", "B", "C", "D", "decoration", "coffee", "mail", "office"),
        *("mail_present", "people_present"),
    )
    assert office.constraints == ("decoration",)
    assert (office.gamma, office.primitive_steps) == (0.9, 100)


def test_the_tasks_are_those_of_the_table_with_its_formulas_and_limits():
    office = get_domain("office")
    assert {name: task.formula for name, task in office.tasks.items()} == OFFICE_TASKS
    absorbing = get_domain("office_absorbing")
    assert absorbing.env_id == "skm/OfficeAbsorbing-v0"
    assert {name: task.formula for name, task in absorbing.tasks.items()} == {
        "coffee": OFFICE_TASKS["coffee"],
        "coffee_strict": "F office & (!office U coffee)",
    }
    for task in [*office.tasks.values(), *absorbing.tasks.values()]:
        assert (task.repeat, task.max_steps) == (False, 1000)


@pytest.mark.parametrize("name", domain_names())
def test_formulas_speak_only_of_the_propositions_and_close_their_parentheses(name):
    domain = get_domain(name)
    for task in domain.tasks.values():
        words = set(re.findall(r"\w+", task.formula))
        assert words <= {*domain.propositions, "X", "F", "G", "U"}
        assert task.formula.count("(") == task.formula.count(")")


def test_an_unknown_domain_is_answered_with_the_nearest_and_all_known():
    with pytest.raises(
        DomainError, match=r"'ofice'; did you mean 'office'\? Known: .*office_absorbing"
    ):
        get_domain("ofice")


def test_an_unknown_task_is_answered_with_the_nearest_and_all_known():
    with pytest.raises(DomainError, match=r"no task 'cofee'; did you mean 'coffee'\?.*patrol"):
        get_domain("office").task("cofee")
    assert get_domain("office").task("coffee").name == "coffee"


def test_a_spec_of_ones_own_is_found_by_module_and_attribute(tmp_path, monkeypatch):
    (tmp_path / "my_kitchen_domain.py").write_text(
        "from skm_sim import DomainSpec\n"
        "KITCHEN = DomainSpec('kitchen', 'my/Kitchen-v0', ('cup',), (), 0.9, 10, {})\n"
        "NUMBER = 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert get_domain("my_kitchen_domain:KITCHEN").name == "kitchen"
    with pytest.raises(DomainError, match=r"no attribute 'KITCHN'.*did you mean 'KITCHEN'"):
        get_domain("my_kitchen_domain:KITCHN")
    with pytest.raises(DomainError, match="'NUMBER' is not a DomainSpec"):
        get_domain("my_kitchen_domain:NUMBER")
    with pytest.raises(DomainError, match=r"cannot import 'no_such_module_here'.*PYTHONPATH"):
        get_domain("no_such_module_here:KITCHEN")
    with pytest.raises(DomainError, match="cannot import ''"):
        get_domain(":KITCHEN")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propositions": ()}, "name at least one"),
        ({"propositions": ("a", "a"), "constraints": ()}, "lists a more than once"),
        ({"constraints": ("b", "b")}, "lists b more than once"),
        ({"constraints": ("c",)}, "constraints names c, not among"),
        ({"propositions": ("a", "b", "two words")}, "'two words' cannot be written"),
        ({"propositions": ("a", "b", "2nd")}, "'2nd' cannot be written"),
        ({"propositions": ("a", "b", "F")}, "'F' is an operator"),
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"primitive_steps": 0}, "primitive_steps is 0"),
        ({"tasks": {"stay": Task("go", "F a", False, 1)}}, "filed under 'stay' is named 'go'"),
    ],
)
def test_a_spec_that_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(DomainError, match=message):
        spec(**changes)


def test_a_task_without_time_is_refused():
    with pytest.raises(DomainError, match="max_steps is 0"):
        Task("go", "F a", repeat=False, max_steps=0)


def test_names_that_broke_other_parsers_are_welcome():
    assert spec(propositions=("a", "b", "room1", "a0", "S", "E", "XF", "_x")).name == "tiny"


def test_specs_are_values_that_can_be_hashed_copied_and_pickled():
    one = spec()
    assert one == spec()
    assert hash(one) == hash(spec())
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_the_protocol_tells_a_domain_from_a_plain_object():
    class Yes:
        propositions = ("a",)
        constraints = ()

        def labels(self):
            return frozenset()

    assert isinstance(Yes(), Domain)
    assert not isinstance(object(), Domain)


def test_importing_the_package_and_a_spec_imports_no_heavy_library():
    program = (
        "import sys, skm_sim; skm_sim.get_domain('office');"
        "print([m for m in ('torch', 'mujoco', 'matplotlib', 'rclpy', 'skm_sim.office.env')"
        " if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path("/")
    )
    assert result.stdout.strip() == "[]"


def test_the_former_name_of_the_encoder_still_works():
    """`body` until 0.1; a copy of the spec keeps the encoder without another warning."""
    with pytest.warns(DeprecationWarning, match="encoder"):
        made = spec(body="own:Encoder")
    assert made.encoder == "own:Encoder"
    assert replace(made, gamma=0.5).encoder == "own:Encoder"
