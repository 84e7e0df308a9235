"""What of a machine is drawn: what can happen in a world, and of large machines what is near."""

from skm_machine import compile_mission
from skm_machine.drawing.machine import MachineParts

WORLD = [frozenset(), frozenset({"coffee"}), frozenset({"office"}), frozenset({"vase"})]


def edges(part):
    return {
        (part.names[edge.source], part.names[edge.target]): str(edge.label) for edge in part.edges
    }


def test_labels_say_no_more_than_what_tells_the_label_sets_of_the_world_apart():
    machine = compile_mission("F(coffee & X F office) & G !vase").machine
    found = edges(MachineParts(machine, WORLD).whole())
    assert found["u0", "u1"] == "coffee"
    assert found["u1", "accepted"] == "office"
    assert found["u0", "failed"] == "vase"
    assert edges(MachineParts(machine).whole())["u0", "u1"] == "coffee & !vase"


def test_what_cannot_happen_in_a_world_is_left_out():
    machine = compile_mission("F coffee & F office").machine
    both = ("u0", "accepted")  # coffee and office at once
    assert both in edges(MachineParts(machine).whole())
    assert both not in edges(MachineParts(machine, WORLD).whole())
    without = MachineParts(machine, [frozenset(), frozenset({"coffee"})]).whole()
    assert "accepted" not in without.names


def test_a_large_machine_is_folded_around_the_present_state_with_its_own_numbers():
    text = " & ".join(f"F({a} & X F {b})" for a, b in ("ab", "cd", "ef", "gh"))
    machine = compile_mission(text).machine
    parts = MachineParts(machine)
    state = machine.step(machine.initial, {"a"}).target
    part = parts.around(state, [machine.initial])
    assert {machine.initial, state} <= set(part.numbers)
    assert 5 < part.num_states < 20 < machine.num_states
    assert [machine.names[number] for number in part.numbers] == list(part.names)
    assert part.hidden[part.numbers.index(state)] > 0
    assert "accepted" in part.names  # the best way on is shown to its end
