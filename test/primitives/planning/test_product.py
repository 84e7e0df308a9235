"""The product of machine and finite world, and its solvers, against what is true by definition.

Worlds and missions are random: of all kinds that a finite world can be (`feasibility_oracle`), with
commitments and with events.
"""

from itertools import product as pairs

import numpy as np
import pytest

import feasibility_oracle as oracle
from skm_machine import SkmError, compile_mission
from skm_machine.events import EventGame, subsets
from skm_primitives.planning.product import mission_product
from skm_primitives.planning.solvers import FAR, doomed, event_game, possible, steps_to
from skm_sim.finite_world import FiniteWorld

EVENTS = ("c", "d")
REACTIVE = (
    "G(c -> F a) & G F b",
    "G(c -> X !a) & G F a & G F b",
    "(!a U d | G !a) & G F b",
    "F a & (!a U d)",
    "(G F c -> G F a) & G F b",
    "F G !a | G(c -> F b)",
    "F(a & X F b) & G(d -> F a)",
)


def drawn(seed, missions=6):
    """Yield worlds of every kind, each with some missions that have a machine."""
    rng = np.random.default_rng(seed)
    for number in range(len(oracle.KINDS)):
        world = oracle.random_world(rng, number)
        for _ in range(missions):
            try:
                machine = compile_mission(
                    oracle.random_mission(rng), propositions=oracle.NAMES
                ).machine
            except SkmError:
                continue
            if machine.num_states < 40 and machine.initial not in machine.terminal:
                yield world, oracle.skills_of(world).world_model, machine


def read_by_hand(product, machine, reading):
    """What a reading does: the node after it, the reward, and whether it leads anywhere."""
    event, arrival = divmod(reading, product.size)
    u, place, counter = product.node(arrival)
    labels = product.labels(place, counter) | product.happenings[event]
    outcome = machine.step(u, labels)
    ended = product.world.ended is not None and product.world.ended[place]
    kept = machine.keeps(u, outcome) and not (ended and outcome.target not in machine.terminal)
    after = outcome.target, place, int(product.counter_after[place, counter])
    return int(product.reading(*after)), outcome.reward, kept


@pytest.mark.parametrize("seed", range(2))
def test_a_reading_does_what_the_machine_does_and_is_found_again_backwards(seed):
    for _, world, machine in drawn(seed, missions=3):
        product = mission_product(machine, world, subsets(EVENTS[:1]))
        readings = np.arange(len(product.happenings) * product.size)
        found = list(
            zip(
                product.lands(readings),
                product.pays(readings),
                product.keeps(readings),
                strict=True,
            )
        )
        running = [
            r
            for r in readings.tolist()
            if product.node(r % product.size)[0] not in machine.terminal
        ]
        rng = np.random.default_rng(seed)
        for reading in rng.choice(running, 40).tolist():
            assert found[reading] == read_by_hand(product, machine, reading)
        nodes = np.arange(product.size)
        before, owner = product.before(nodes)
        assert sorted(before.tolist()) == readings.tolist()
        assert (product.lands(before) == nodes[owner]).all()
        paid = [r for r in readings.tolist() if found[r][1] > 0 and found[r][2]]
        assert sorted(product.paid.tolist()) == paid


@pytest.mark.parametrize("any_outcome", [False, True])
def test_the_sources_of_an_arrival_are_the_nodes_that_an_action_leads_from(any_outcome):
    for world, known, machine in drawn(3, missions=1):
        product = mission_product(machine, known)
        sources, owner = product.sources(np.arange(product.size), any_outcome=any_outcome)
        expected = []
        for number in range(product.size):
            u, place, counter = product.node(number)
            for action, outcomes in enumerate(world.moves[place]):
                there = [after for after, _ in outcomes]
                if not any_outcome and there:
                    there = [int(known.successors[place, action])]
                expected += [(number, int(product.reading(u, p, counter))) for p in there]
        assert sorted(zip(sources.tolist(), owner.tolist(), strict=True)) == sorted(expected)


def test_steps_and_feasibility_are_those_of_a_search_node_by_node():
    compared = 0
    for world, known, machine in drawn(5):
        product, searched = mission_product(machine, known), oracle.Product(world, machine)
        steps, _ = steps_to(product, paid=product.paid, any_outcome=True)
        fewest, lasso = searched.fewest_steps(), searched.lassos()
        feasible = [possible(product, endless=endless) for endless in (False, True)]
        for start in searched.starts:
            here = machine.initial, start[1], 0
            assert (steps[here] if steps[here] < FAR else None) == fewest.get(start)
            assert [bool(some[here]) for some in feasible] == [start in fewest, start in lasso]
            compared += start in fewest
    assert compared > 50


@pytest.mark.parametrize("text", REACTIVE)
def test_label_sets_in_any_order_are_a_finite_world_with_the_same_game(text):
    """The game on the machine alone (`skm_machine.events`) shares nothing with that on the product."""
    machine = compile_mission(text, horizon="infinite", events=EVENTS).machine
    own = [s for s in subsets(("a", "b")) if not s >= {"a", "b"}]
    for some in ((), *pairs(EVENTS), EVENTS):
        events = tuple(dict.fromkeys(some))
        absent = [name for name in EVENTS if name not in events]
        alone = EventGame(machine, events, absent, own)
        game = event_game(machine, FiniteWorld.any_order(own), events)
        for state in set(range(machine.num_states)) - machine.terminal - machine.failure:
            assert game.kept[state].all() == game.kept[state].any() == (state in alone.won)


def test_what_is_doomed_cannot_be_helped_by_any_choice():
    """Backwards from failure: all actions lead to what is doomed sooner, or the node is safe."""
    found = 0
    promising = [
        compile_mission(text).machine for text in ("F G a & G !b", "(F G a | G F b) & G !c")
    ]
    worlds = list(drawn(11))
    for world, machine in [
        *((world, machine) for _, world, machine in worlds),
        *pairs([world for _, world, _ in worlds[::6]], promising),
    ]:
        product = mission_product(machine, world)
        doom = doomed(product)
        for number in range(product.size):
            u, place, counter = product.node(number)
            if u in machine.terminal or u in machine.failure:
                continue
            ways = np.array(product.ways(u))[:, None]
            after = product.lands(product.reading(ways, world.successors[place], counter))
            soonest = int(doom.reshape(-1)[after].max()) + 1
            assert doom[u, place, counter] == min(soonest, FAR)
            found += soonest < FAR
    assert found > 10


def test_labels_that_change_in_too_many_places_are_refused_before_anything_is_allocated():
    # 30 places, each of which shows `a` from its third visit on: 3^30 counts.
    successors = np.arange(1, 31)[:, None] % 30
    visits = dict.fromkeys(range(30), (0, 0, 1))
    sets = frozenset(), frozenset({"a"})
    world = FiniteWorld(successors, sets, np.zeros(30, np.int64), visits=visits)
    machine = compile_mission("F a", propositions=("a",)).machine
    with pytest.raises(SkmError, match=r"205,891,132,094,649 visit counts.*in the observation"):
        mission_product(machine, world)
