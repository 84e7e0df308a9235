"""Declared actions under way: attempts, time-outs, effects that are seen, and giving up."""

from __future__ import annotations

from skm_sim.maps.actions import ActionSpec
from skm_sim.robots.action_skills import ANSWER_SECONDS, GRACE, PAUSE, ActionSkills

PICK = ActionSpec("pick", "/arm/pick", "p/action/A", {}, ("cup",), timeout=30.0, retries=2)
PLACE = ActionSpec("place", "/arm/place", "p/action/A", {}, (), ("cup",))


class Server:
    """Notes what is sent and cancelled."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.cancelled: list[int] = []
        self.there = True

    def send(self, number: int, spec: ActionSpec) -> bool:
        self.sent.append(number)
        return self.there

    def cancel(self, number: int) -> None:
        self.cancelled.append(number)


def begun(sensed: tuple[str, ...] = ()) -> tuple[ActionSkills, Server]:
    server = Server()
    skills = ActionSkills((PICK, PLACE), server, sensed)
    skills.want(0, 0.0)
    skills.step(0.0, go=True, stopped=False, stands=True)
    return skills, server


def go(skills: ActionSkills, now: float) -> None:
    skills.want(0, now)
    skills.step(now, go=True, stopped=False, stands=True)


def test_it_is_sent_once_the_robot_stands_and_changes_facts_when_it_ends() -> None:
    server = Server()
    skills = ActionSkills((PICK, PLACE), server)
    skills.want(0, 0.0)
    skills.step(0.0, go=True, stopped=False, stands=False)
    assert not server.sent
    go(skills, 0.1)
    skills.on_answer(server.sent[0], True, 0.2)
    assert skills.under_way == "pick"
    assert not skills.holding
    skills.on_result(server.sent[0], "", 1.0)
    assert skills.holding == {"cup"}
    assert skills.bits == 1
    assert not skills.wanted
    skills.want(1, 1.1)
    skills.step(1.1, go=True, stopped=False, stands=True)
    skills.on_answer(server.sent[1], True, 1.2)
    skills.on_result(server.sent[1], "", 2.0)
    assert not skills.holding


def test_what_a_topic_shows_is_believed_and_not_the_action() -> None:
    skills, server = begun(sensed=("cup",))
    skills.on_answer(server.sent[0], True, 0.1)
    skills.on_result(server.sent[0], "", 1.0)
    assert not skills.holding
    skills.sense("cup", True)
    go(skills, 1.1)
    assert not skills.wanted
    assert skills.holding == {"cup"}
    skills.sense("cup", False)
    go(skills, 2.0)
    skills.on_answer(server.sent[1], True, 2.1)
    skills.on_result(server.sent[1], "", 3.0)
    go(skills, 3.0 + PICK.check + 0.1)
    go(skills, 3.0 + PICK.check + 0.2 + PAUSE)
    go(skills, 3.0 + PICK.check + 0.3 + PAUSE)
    assert len(server.sent) == 3, "it is tried again"


def test_what_fails_is_tried_again_and_then_given_up_with_the_reason() -> None:
    skills, server = begun()
    now = 0.0
    for attempt in range(3):
        skills.on_answer(server.sent[attempt], True, now)
        skills.on_result(server.sent[attempt], "it was aborted: too slippery", now)
        now += PAUSE + 0.1
        go(skills, now)
        go(skills, now)
    assert len(server.sent) == 3
    assert skills.failure == "pick was tried 3 times without success: it was aborted: too slippery"
    assert skills.given_up(now) == (0,)
    assert skills.given_up(now + 100) == ()
    skills.want(1, now)
    assert not skills.failure, "something else is tried"


def test_an_action_that_takes_too_long_is_cancelled() -> None:
    skills, server = begun()
    go(skills, ANSWER_SECONDS + 0.1)
    assert server.cancelled == server.sent, "nobody answered"
    go(skills, 6.0)
    go(skills, 6.1)
    skills.on_answer(server.sent[1], True, 6.2)
    go(skills, 6.2 + PICK.timeout + 0.1)
    assert server.cancelled == server.sent
    skills.on_result(server.sent[1], "", 40.0)
    assert not skills.holding, "what comes after the cancellation does not count"


def test_a_stop_cancels_at_once_and_a_machine_that_is_held_up_only_after_a_while() -> None:
    skills, server = begun()
    skills.on_answer(server.sent[0], True, 0.1)
    skills.step(GRACE - 0.1, go=False, stopped=False, stands=True)
    assert not server.cancelled
    skills.step(GRACE, go=True, stopped=True, stands=True)
    assert server.cancelled == server.sent
    assert skills.counts["actions failed"] == 0
    go(skills, 5.0)
    assert len(server.sent) == 2, "it is begun again when it is asked for"


def test_another_wish_cancels_what_is_under_way() -> None:
    skills, server = begun()
    skills.on_answer(server.sent[0], True, 0.1)
    skills.want(-1, 0.5)
    assert server.cancelled == server.sent
    assert not skills.wanted


def test_nobody_there_is_a_failure_with_a_reason() -> None:
    skills, server = begun()
    server.there = False
    skills.want(1, 0.0)
    skills.step(0.0, go=True, stopped=False, stands=True)
    now = 0.0
    while not skills.failure:
        now += 0.1
        skills.want(1, now)
        skills.step(now, go=True, stopped=False, stands=True)
    assert skills.failure == "place was tried 3 times without success: nobody serves /arm/place"
