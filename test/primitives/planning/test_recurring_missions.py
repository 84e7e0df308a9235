"""Recurring missions with places as goals: the best lasso, by solvers that share nothing with it."""

from fractions import Fraction
from functools import cache

import pytest

from skm_machine import Status, UnachievableMissionError, accepts_lasso, compile_mission
from skm_machine.events import EventScript
from skm_primitives import MissionRun, load_primitives, make_policy, run_episode
from skm_primitives.evaluation.exact import most_rounds
from skm_primitives.planning.product import mission_product
from skm_primitives.planning.solvers import best_lasso
from skm_sim import get_domain

OFFICE = get_domain("office")


@cache
def skills():
    return load_primitives(OFFICE)


def arcs(machine, world, initial):
    """Yield the arcs of machine × places, with every choice of commitments, as pure Python."""
    numbers, nodes, found = {}, [], []

    def number(node):
        if node not in numbers:
            numbers[node] = len(nodes)
            nodes.append(node)
        return numbers[node]

    for place in range(world.states):
        number((initial, place))
    for node in nodes:
        state, place = node
        for reached in map(int, world.successors[place]):
            labels = world.label_sets[world.shown(reached)[-1]]
            for outcome in machine.options(state, labels):
                kept = machine.keeps(state, outcome) and outcome.target not in machine.terminal
                if kept:
                    target = number((outcome.target, reached))
                    found.append((numbers[node], target, outcome.reward))
    return len(nodes), found


def best_cycle_mean(count, found):
    """Return the greatest mean reward of a cycle (Karp), with all nodes as starts."""
    never = -(10**9)
    rows = [[0] * count]
    for _ in range(count):
        row = [never] * count
        for source, target, reward in found:
            if rows[-1][source] > never:
                row[target] = max(row[target], rows[-1][source] + int(reward))
        rows.append(row)
    return max(
        min(Fraction(rows[count][v] - rows[k][v], count - k) for k in range(count) if rows[k][v] > never)
        for v in range(count)
        if rows[count][v] > never
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["G F A & G F B & G !decoration", "G F(coffee & X F office)", "G F A | F G coffee"]
)
def test_the_cycle_has_the_least_mean_number_of_steps_a_round(text):
    machine = compile_mission(text).machine
    world = skills().world_model
    lasso = best_lasso(mission_product(machine, world), skills().gamma)
    expected = best_cycle_mean(*arcs(machine, world, machine.initial))
    assert lasso.gain[machine.initial].max() == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "G F A & G F C & G !decoration",
        "G(coffee -> F office) & G F coffee & G F A & G !decoration",
        "F G coffee & F mail",
        "(G F A & G F B | G F C & G F D) & G !decoration",
    ],
)
def test_no_policy_completes_more_rounds_from_any_start(text):
    mission = compile_mission(text, propositions=OFFICE.propositions)
    policy, env, steps = make_policy(mission, skills()), OFFICE.make(), 150
    optimum = most_rounds(mission.machine, env.unwrapped.model, steps)
    rounds = 0
    for cell in range(0, len(optimum), 6):
        _, run = follow(env, policy, steps, {"cell": cell})
        assert run.tracker.status is Status.RUNNING
        rounds += run.tracker.accepting_visits
    assert rounds >= 0.99 * optimum[::6].sum()


def follow(env, policy, steps, options):
    """Run a recurring mission and return its trace."""
    observation, info = env.reset(options=options)
    run, trace = MissionRun(policy, skills(), steps), []
    run.begin(observation, info["labels"])
    while not run.over:
        decision = run.decide(skills().values(observation, run.history))
        observation, _, _, _, info = env.step(decision.action)
        run.enter(observation, info["labels"])
        trace.append(info["labels"])
    return trace, run


def test_a_persistence_goes_in_and_stays():
    mission = compile_mission("F G coffee", propositions=OFFICE.propositions)
    trace, run = follow(OFFICE.make(), make_policy(mission, skills()), 60, {"start": (2, 2)})
    arrived = next(i for i, labels in enumerate(trace) if "coffee" in labels)
    assert all("coffee" in labels for labels in trace[arrived:])
    assert run.tracker.accepting_visits == len(trace) - arrived
    assert accepts_lasso("F G coffee", trace[:arrived], trace[arrived:])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("F G office", "nothing that the robot can do keeps 'office' forever"),
        ("G F(coffee & office)", "nothing that the robot can reach satisfies 'coffee & office'"),
        ("F G A & F G B", "satisfies 'A & B'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(text, reason):
    mission = compile_mission(text, propositions=OFFICE.propositions)
    with pytest.raises(UnachievableMissionError, match=reason):
        make_policy(mission, skills())


BATTERY = "G(battery_low -> F office) & G F A & G F B & G !decoration"


def run_with_events(text, script, steps, start=(2, 2)):
    mission = compile_mission(text, propositions=OFFICE.propositions, events=script.names)
    policy = make_policy(mission, skills())
    return run_episode(
        OFFICE.make(), skills(), policy, max_steps=steps, options={"start": start}, events=script
    )


def test_an_event_turns_the_robot_round_in_the_next_step():
    quiet = run_with_events(BATTERY, EventScript("battery_low"), 60)
    low = run_with_events(BATTERY, EventScript("battery_low@30"), 60)
    assert quiet.outcome == low.outcome == "satisfied so far"
    assert quiet.observations[:31] == low.observations[:31]
    policy = make_policy(
        compile_mission(BATTERY, propositions=OFFICE.propositions, events=["battery_low"]), skills()
    )
    owed = next(move.target for move in low.transitions if "battery_low" in move.labels)
    policy.start(low.observations[30])
    away = policy.pending_steps(owed)
    policy.start(low.observations[31])
    assert policy.pending_steps(owed) == away - 1
    answered = next(m.step for m in low.transitions if m.step > 30 and "office" in m.labels)
    assert answered == 30 + away
    assert not any("office" in move.labels for move in quiet.transitions)


@pytest.mark.parametrize("script", ["battery_low@20-", "battery_low~0.5", "battery_low@20-300"])
def test_an_event_that_comes_back_at_once_does_not_keep_the_robot_from_its_rounds(script):
    """The mission can be kept whatever happens, so it is: also with a battery that stays low."""
    low = run_with_events(BATTERY, EventScript(script, seed=1), 600)
    assert low.outcome == "satisfied so far"
    rounds = [move.step for move in low.transitions if move.reward > 0]
    gaps = [after - before for before, after in zip(rounds, [*rounds[1:], 600], strict=True)]
    assert len(rounds) > 6
    assert max(gaps) < 120, gaps


def test_a_mission_that_needs_an_event_waits_for_it_and_never_counts_on_it():
    text = "F A & (!A U door_open)"
    opened = run_with_events(text, EventScript("door_open@700"), 1000)
    assert opened.outcome == "accepted"
    assert opened.steps in (701, 702)
    assert run_with_events(text, EventScript("door_open"), 100).outcome == "timed out"


def test_no_action_is_taken_that_an_event_could_turn_into_failure():
    """Whoever steps on the coffee may be called there: so nobody does, and yet the patrol goes on."""
    text = "G(call -> !coffee) & G F A & G F(mail | coffee)"
    low = run_with_events(text, EventScript("call~0.3", seed=3), 400)
    assert low.outcome == "satisfied so far"
    assert not any("coffee" in move.labels for move in low.transitions)
    mission = compile_mission(text, propositions=OFFICE.propositions, events=["call"])
    game = make_policy(mission, skills()).game
    assert game.kept[mission.machine.initial].all()


def test_a_promise_that_events_can_break_is_not_planned_on_where_none_is_needed():
    """The plan was to commitment that nobody calls, which the robot then did not dare.

    It did nothing.
    """
    mission = compile_mission(
        "F A | F G !call", propositions=OFFICE.propositions, horizon="infinite", events=["call"]
    )
    policy = make_policy(mission, skills())
    for start in ((2, 2), (6, 9)):
        episode = run_episode(
            OFFICE.make(),
            skills(),
            policy,
            max_steps=80,
            options={"start": start},
            events=EventScript("call"),
        )
        assert episode.outcome == "satisfied so far"
        assert any("A" in move.labels for move in episode.transitions)
