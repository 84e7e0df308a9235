"""Pictures of machines: nothing overlaps, nothing is missing, every viewer can read them."""

import re
import time
from itertools import combinations, pairwise
from math import dist
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties, findfont, get_font

from skm_machine.drawing.canvas import broken, symbolic, text_width
from skm_machine.drawing.machine import MAX_STATES, draw_machine
from skm_machine.logic.formula import TRUE, conjunction, disjunction, negation, proposition
from skm_machine.logic.parser import parse
from skm_machine.recurrence import recurring_machine
from skm_machine.reward_machine import Outcome, from_automaton, from_edges
from skm_machine.skill_machine import plan_paper
from skm_machine.translators import translate
from tasks import TASKS

SVG = "{http://www.w3.org/2000/svg}"
ENDLESS = ("G F a & G F b & G !c", "G F a & G F b & G F d & G !c", "F G a", "G F a | F G b")


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float
    round: bool = False


def task_machine(name):
    return from_automaton(translate(parse(TASKS[name][0])), repeat=name.startswith("moving"))


def groups(svg, kind):
    return [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == kind]


def dejavu_width(text, size, weight="normal"):
    """The true width in the widest usual face, which matplotlib brings along."""
    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight=weight)))
    font.set_size(100, 72)
    return size * sum(font.load_char(ord(c)).linearHoriAdvance for c in text) / 65536 / 100


def text_box(element):
    x, y, size = (float(element.get(key)) for key in ("x", "y", "font-size"))
    width = dejavu_width("".join(element.itertext()), size)
    return x - width / 2, y - 0.8 * size, x + width / 2, y + 0.25 * size


def label_boxes(svg):
    boxes = {}
    for number, edge in enumerate(groups(svg, "edge")):
        lines = [text_box(text) for text in edge.iter(f"{SVG}text")]
        lefts, tops, rights, bottoms = zip(*lines, strict=True)
        boxes[number] = Box(min(lefts), min(tops), max(rights), max(bottoms))
    return boxes


def state_boxes(svg):
    boxes = {}
    for state in groups(svg, "state"):
        outline = next(e for e in state if e.tag == f"{SVG}rect" or e.get("stroke-width") == "1.6")
        value = {key: float(v) for key, v in outline.items() if re.fullmatch(r"[-\d.]+", v)}
        if outline.tag == f"{SVG}rect":
            left, top = value["x"], value["y"]
            box = (left, top, left + value["width"], top + value["height"])
        else:
            x, y, r = value["cx"], value["cy"], value["r"]
            box = (x - r, y - r, x + r, y + r)
        boxes[int(state.get("data-state"))] = Box(*box, outline.tag == f"{SVG}circle")
    return boxes


def path_points(group):
    """Points along the lines of a group, a few pixels apart."""
    for path in group.iter(f"{SVG}path"):
        if path.get("fill") != "none":
            continue
        here = None
        for command, numbers in re.findall(r"([MLC])([^MLC]*)", path.get("d")):
            points = [tuple(map(float, pair.split(","))) for pair in numbers.split()]
            if command != "M":
                curve = [here, *points]
                yield from (bezier(curve, step / 40) for step in range(41))
            here = points[-1]


def bezier(points, share):
    while len(points) > 1:
        points = [
            ((1 - share) * a[0] + share * b[0], (1 - share) * a[1] + share * b[1])
            for a, b in pairwise(points)
        ]
    return points[0]


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def inside(point, box, margin):
    x, y = point
    if box.round:
        centre = ((box.left + box.right) / 2, (box.top + box.bottom) / 2)
        return dist(point, centre) < (box.right - box.left) / 2 - margin
    across = box.left + margin < x < box.right - margin
    return across and box.top + margin < y < box.bottom - margin


def check_picture(machine, svg):
    """Nothing overlaps, nothing is missing, and everything is on the sheet."""
    labels, states, edges = label_boxes(svg), state_boxes(svg), groups(svg, "edge")
    assert set(states) == set(range(machine.num_states))
    drawn = sorted((int(e.get("data-source")), int(e.get("data-target"))) for e in edges)
    expected = (*machine.edges, *machine.commitment_edges)
    assert drawn == sorted((edge.source, edge.target) for edge in expected)
    boxes = [*labels.values(), *states.values()]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    root = ET.fromstring(svg)
    left, top, width, height = map(float, root.get("viewBox").split())
    for box in boxes:
        assert left < box[0] < box[2] < left + width
        assert top < box[1] < box[3] < top + height
    for line in edges + groups(svg, "rail"):
        points = list(path_points(line))
        assert points
        for box in states.values():
            assert not [p for p in points if inside(p, box, 2)], "an edge runs through a state"
        for box in labels.values():
            assert not [p for p in points if inside(p, box, 1)], "an edge runs through a label"


@pytest.mark.parametrize("with_skills", [True, False])
@pytest.mark.parametrize("name", TASKS)
def test_task_pictures_have_no_overlap_and_miss_nothing(name, with_skills):
    machine = task_machine(name)
    skills = plan_paper(machine).skills if with_skills else None
    check_picture(machine, draw_machine(machine, skills, name))


@pytest.mark.parametrize("formula", ENDLESS)
def test_endless_pictures_have_no_overlap_and_miss_nothing(formula):
    machine = recurring_machine(parse(formula))
    check_picture(machine, draw_machine(machine, plan_paper(machine).skills))


@st.composite
def machines(draw):
    """Machines of any shape: unreachable states, several failure states, parallel and back edges."""
    names = ["button", "region", "a_long_name_of_a_place"]
    states = draw(st.integers(1, 7))
    target = st.builds(Outcome, st.integers(0, states - 1), st.sampled_from([0.0, 0.0, 1.0, 0.5]))
    a, b, c = map(proposition, names)
    labels = [conjunction(a, b), conjunction(a, negation(b)), conjunction(negation(a), c)]
    labels.append(conjunction(negation(a), negation(c)))
    rows = [
        [(label, outcome) for label in labels if (outcome := draw(st.none() | target)) is not None]
        for _ in range(states)
    ]
    return from_edges(names, rows, terminal=draw(st.sets(st.integers(0, states - 1), max_size=2)))


@settings(max_examples=60)
@given(machines(), st.booleans())
def test_pictures_of_any_machine_have_no_overlap_and_miss_nothing(machine, with_skills):
    skills = plan_paper(machine).skills if with_skills else None
    check_picture(machine, draw_machine(machine, skills))


def test_long_chain_is_broken_into_rows():
    """A mission of 40 stops stays about as wide as a page, and readable."""
    formula = "F p39"
    for stop in reversed(range(39)):
        formula = f"F(p{stop} & X {formula})"
    machine = from_automaton(translate(parse(f"{formula} & G !region")))
    svg = draw_machine(machine, plan_paper(machine).skills)
    check_picture(machine, svg)
    assert float(ET.fromstring(svg).get("width")) < 1900


def test_picture_shows_skills_rewards_and_outcomes():
    machine = task_machine("safety/2")
    svg = draw_machine(machine, plan_paper(machine).skills, "Press, then fetch")
    texts = ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]
    assert "Press, then fetch" in texts
    assert {"u0", "u1", "accepted", "failed"} <= set(texts)
    assert "reach button" in texts
    assert "avoid region" in texts
    failing = [e for e in groups(svg, "edge") if e.get("data-target") == "3"]
    assert all(next(e.iter(f"{SVG}path")).get("stroke-dasharray") for e in failing)
    accepted = next(s for s in groups(svg, "state") if s.get("data-state") == "2")
    assert len(list(accepted.iter(f"{SVG}circle"))) == 2
    assert "★" not in svg
    assert draw_machine(task_machine("moving_targets/3")).count("★") == 1


def test_labels_are_broken_at_operators_and_long_ones_end_in_an_ellipsis():
    assert broken(parse("button & !region")) == ["button", "∧ ¬region"]
    assert broken(parse("!d & (coffee | mail)")) == ["¬d", "∧ (coffee ∨ mail)"]
    assert broken(TRUE) == ["true"]
    long = disjunction(
        *(conjunction(*map(proposition, (f"left{i}", f"right{i}"))) for i in range(9))
    )
    lines = broken(long)
    assert len(lines) == 4
    assert lines[-1].endswith("…")
    assert max(map(len, lines)) <= 28
    machine = from_edges(long.propositions(), [[(long, Outcome(1, 1.0))], []], terminal=[1])
    edge = next(e for e in groups(draw_machine(machine), "edge") if e.get("data-target") == "1")
    assert (
        edge.findtext(f"{SVG}title")
        == f"u0 → accepted: {symbolic(machine.label(0, [Outcome(1, 1.0)]))}"
    )


def test_operators_within_quoted_names_are_not_changed():
    assert symbolic(parse('"a & !b" & !c')) == '"a & !b" ∧ ¬c'


@pytest.mark.parametrize(
    "name", ['<b a="1">&amp;</b>', "]]>", "\x00\x1f\ud800", "a\nb", "日本語 🤖", ""]
)
def test_nasty_names_are_escaped(name):
    edges = [[(proposition(name), Outcome(1, 1.0))], []]
    machine = from_edges([name], edges, terminal=[1])
    svg = draw_machine(machine, plan_paper(machine).skills, title=f"F {name}")
    assert ET.fromstring(svg.encode()).tag == f"{SVG}svg"
    assert len(groups(svg, "state")) == machine.num_states


def test_same_machine_gives_same_picture():
    pictures = {draw_machine(task_machine("office/coffee_mail"), title="x") for _ in range(3)}
    assert len(pictures) == 1


def test_large_machine_is_sketched_in_bounded_time():
    """256 states and 6561 edges, fewer those of the accepted state: all there, in a few seconds."""
    machine = from_automaton(translate(parse(" & ".join(f"F p{i}" for i in range(8)))))
    assert machine.num_states == 256 > MAX_STATES
    start = time.process_time()
    svg = draw_machine(machine)
    assert time.process_time() - start < 5
    assert "edges" not in vars(machine), "labels are costly and were not to be computed"
    assert len(groups(svg, "state")) == 256
    assert len(groups(svg, "edge")) == 6560


def test_a_long_thin_machine_is_broken_into_lines():
    machine = from_automaton(translate(parse("F[0,120] a & G !b")))
    assert machine.num_states > 100
    svg = ET.fromstring(draw_machine(machine).encode())
    assert 0.5 < float(svg.get("width")) / float(svg.get("height")) < 4
    centres = [
        (c.get("cx"), c.get("cy")) for g in svg.iter(f"{SVG}g") for c in g.iter(f"{SVG}circle")
    ]
    assert len(set(centres)) >= machine.num_states


def test_crowded_machine_has_its_labels_on_hovering():
    machine = recurring_machine(parse(" & ".join(f"G F p{i}" for i in range(5))))
    edges = groups(draw_machine(machine), "edge")
    titles = [edge.findtext(f"{SVG}title") for edge in edges]
    assert len(titles) == len(machine.edges)
    assert f"u0 → u0: {symbolic(parse('p0 & p1 & p2 & p3 & p4'))}" in titles


@given(
    st.text(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789 ∧∨¬★()…!&|", max_size=30
    )
)
def test_measured_text_is_never_narrower_than_set(text):
    """In DejaVu Sans, the widest usual face, so that nothing outgrows its place."""
    assert text_width(text, 10) >= 0.97 * dejavu_width(text, 10)
    assert text_width(text, 10, bold=True) >= 0.9 * dejavu_width(text, 10, "bold")
