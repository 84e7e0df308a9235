"""Automata and reward machines as files: read back what is written, and errors that point."""

import pytest
from hypothesis import given

from skm_machine import (
    MissionError,
    UnsupportedMissionError,
    accepts_lasso,
    compile_mission,
    holds,
    parse,
    read_hoa,
    read_hoa_omega,
    read_reward_machine,
    to_dot,
    to_hoa,
    translate,
)
from skm_machine.formats.export import hoa_label
from skm_machine.formats.hoa import read_hoa_automaton
from strategies import formulas, traces
from tasks import TASKS


def rewards(machine, trace):
    """Return the reward of each step, up to the end of the mission."""
    state, paid = machine.initial, []
    for labels in trace:
        if state in machine.terminal | machine.failure:
            break
        state, reward = machine.step(state, labels)
        paid.append(reward)
    return paid


def hoa(body, acceptance="1 Inf(0)", headers="", propositions='2 "a" "b"', start=0):
    return (
        f"HOA: v1\nStart: {start}\nAP: {propositions}\nAcceptance: {acceptance}\n{headers}\n"
        f"--BODY--\n{body}\n--END--\n"
    )


@given(formulas(), traces(max_size=8))
def test_hoa_export_and_import_give_the_same_language(formula, trace):
    machine = compile_mission(str(formula), horizon="finite").machine
    again = read_hoa(to_hoa(machine))
    assert rewards(again, trace) == rewards(machine, trace)
    assert again.endless == machine.endless


@pytest.mark.parametrize("text", ["G F a & G F b & G !c", "G(a -> F b)", "G F a & F b"])
@given(trace=traces(max_size=8))
def test_missions_without_end_survive_hoa(text, trace):
    machine = compile_mission(text).machine
    again = read_hoa(to_hoa(machine))
    assert again.endless
    assert rewards(again, trace) == rewards(machine, trace)


@pytest.mark.parametrize("text", ["F G a", "G F a & F G b", "G F a | F G b"])
@given(prefix=traces(max_size=3), loop=traces(max_size=3))
def test_promises_are_written_as_what_they_allow(text, prefix, loop):
    exported = to_hoa(compile_mission(text).machine)
    expected = accepts_lasso(text, prefix, loop)
    assert read_hoa_omega(exported).accepts(prefix, loop) == expected


@given(formulas(), traces())
def test_hoa_automata_of_finite_traces_are_minimal_again(formula, trace):
    """What Spot's output goes through: any automaton of the language gives the minimal one back."""
    automaton = translate(formula)
    number = {name: str(index) for index, name in enumerate(automaton.propositions)}
    lines = [
        f"State: {s}"
        + (" {0}" if s in automaton.accepting else "")
        + "".join(
            f"\n[{hoa_label(edge.label, number)}] {edge.target}"
            for edge in automaton.transitions
            if edge.source == s
        )
        for s in range(automaton.num_states)
    ]
    names = " ".join(f'"{name}"' for name in automaton.propositions)
    text = hoa("\n".join(lines), propositions=f"{len(automaton.propositions)} {names}")
    again = read_hoa_automaton(text)
    assert again.num_states == automaton.num_states
    assert again.accepts(trace) == holds(formula, trace)


def test_a_weak_buchi_automaton_ends_on_entering_its_marked_cycle():
    """As Spot writes `F a`: the mark is on the loop after it, or on the state; no step is lost."""
    for body in (
        "State: 0\n[0] 1\n[!0] 0\nState: 1\n[t] 1 {0}",
        "State: 0\n[0] 1\n[!0] 0\nState: 1 {0}\n[t] 1",
    ):
        machine = read_hoa(hoa(body))
        assert rewards(machine, [set(), {"a"}, set()]) == [0, 1]
        assert machine.co_safe
        assert not machine.endless


def test_a_safety_clause_makes_success_so_far():
    machine = read_hoa(hoa("State: 0\n[0&!1] 1\n[!0&!1] 0\nState: 1 {0}\n[!1] 1"))
    assert rewards(machine, [{"a"}]) == [1]
    assert not machine.co_safe
    assert machine.names.count("failed") == 1, "label sets without an edge end in failure"


def test_a_buchi_automaton_that_mixes_marks_has_no_end():
    machine = read_hoa(hoa("State: 0\n[0] 0 {0}\n[!0] 0"))
    assert machine.endless
    assert rewards(machine, [{"a"}, set(), {"a"}]) == [1, 0, 1]


def test_aliases_state_labels_and_implicit_labels():
    aliased = read_hoa(
        hoa("State: 0\n[@x|!0] 0\n[0&!1] 1\nState: 1 {0}\n[t] 1", headers="Alias: @x 0&1")
    )
    assert rewards(aliased, [{"a", "b"}, {"a"}]) == [0, 1]
    state_label = read_hoa(hoa("State: [0] 0\n1\nState: [t] 1 {0}\n1"))
    assert rewards(state_label, [{"a"}]) == [1]
    implicit = read_hoa(hoa("State: 0\n0\n1\n0\n1\nState: 1 {0}\n1 1 1 1"))
    assert rewards(implicit, [{"b"}, {"a"}]) == [0, 1]


def test_a_quoted_name_that_is_no_identifier():
    machine = read_hoa(
        hoa("State: 0\n[0] 1\n[!0] 0\nState: 1 {0}\n[t] 1", propositions='1 "x \\"y\\""')
    )
    assert machine.propositions == ('x "y"',)
    assert rewards(read_hoa(to_hoa(machine)), [{'x "y"'}]) == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (hoa("State: 0\n[0] 0\n[1] 1\nState: 1"), "not deterministic"),
        (hoa("State: 0\n[t] 0", acceptance="2 Inf(0)&Inf(1)"), "acceptance"),
        (hoa("State: 0\n[t] 0&1"), "alternating"),
        (hoa("State: 0\n[7] 0"), "proposition 7"),
        (hoa("State: 0\n[t] 5", headers="States: 1"), "only 1 states"),
        (hoa("State: 0\n[t 0"), r"expected \]"),
        ("HOA: v2\n", "version v1"),
        (hoa("State: 0\n[t] 0", headers="Vital: 1"), "must be understood"),
        ("HOA: v1\nAP: 0\nAcceptance: 0 t\n--BODY--\n--END--", "no 'Start:'"),
        ("HOA: v1\nAP: ?", "unexpected character"),
        (hoa("State: 0\n[" + "!" * 500 + "0] 0"), "nested more than"),
    ],
)
def test_bad_hoa_files_are_errors(text, message):
    with pytest.raises((MissionError, UnsupportedMissionError), match=message):
        read_hoa(text)


COFFEE = """
0        # the initial state
[2]
(0, 0, '!coffee & !decoration', 0)
(0, 1, 'coffee & !decoration', 0)
(1, 1, '!office & !decoration', 0.0)
(1, 2, 'office & !decoration', ConstantRewardFunction(1))
"""


def test_a_reward_machine_file():
    mission = compile_mission(COFFEE)
    assert mission.format == "rm"
    reference = compile_mission(TASKS["office/coffee"][0]).machine
    for trace in (["coffee", "", "office"], ["office", "coffee"], ["decoration", "coffee"]):
        labelled = [set(step.split()) for step in trace]
        assert rewards(mission.machine, labelled) == rewards(reference, labelled)
    assert rewards(compile_mission(COFFEE, repeat=True).machine, 2 * [{"coffee"}, {"office"}]) == [
        0,
        1,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n[1]\n(0, 1, 'a', 1", "expected an edge"),
        ("0\n[1]\n(0, 1, __import__('os').system('true'), 1)", "expected an edge"),
        ("0\n[1]\n(0, 1, 'a &', 1)", "nothing follows"),
        ("0\n[1]\n(0, 1, 'F a', 1)", "no temporal operators"),
        ("0\n[1]\n(0, 1, 'a', 1)\n(0, 0, 'a & b', 0)", "not deterministic"),
        ("zero\n[1]\n(0, 1, 'a', 1)", "first line"),
        ("0\n1\n(0, 1, 'a', 1)", "second line"),
        ("0\n[1]", "needs an initial state"),
    ],
)
def test_bad_reward_machine_files_are_errors(text, message):
    with pytest.raises(MissionError, match=message):
        read_reward_machine(text)


def test_an_error_in_a_label_points_into_the_file():
    with pytest.raises(MissionError) as caught:
        read_reward_machine("0\n[1]\n(0, 1, 'coffe', 1)", propositions={"coffee"})
    line, caret = str(caught.value).splitlines()[-2:]
    assert line[caret.index("^") :].startswith("coffe")


def test_dot_names_every_state_and_edge():
    machine = compile_mission(TASKS["safety/2"][0]).machine
    dot = to_dot(machine)
    assert dot.count("->") == len(machine.edges) + 1
    assert 'label="cylinder & !region / 1"' in dot
    assert "doublecircle" in dot


def test_unknown_propositions_in_files_are_errors():
    with pytest.raises(MissionError, match="unknown proposition 'coffee'"):
        compile_mission(COFFEE, propositions={"cofee"})
    with pytest.raises(MissionError, match="did you mean 'aa'"):
        compile_mission(hoa("State: 0\n[0] 0 {0}"), propositions={"aa"})


def test_unknown_choices_are_errors():
    with pytest.raises(MissionError, match="did you mean 'ltl'"):
        compile_mission("a", format="lt")
    with pytest.raises(MissionError, match="unknown horizon"):
        compile_mission("a", horizon="never")
    assert compile_mission("F a", format="ltl").formula is parse("F a")
