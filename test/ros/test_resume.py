"""Missions that outlive the nodes: killed and started again, they go on where they were."""

import json
import signal
from contextlib import ExitStack

import pytest
from harness import NODES, System, end_systems
from skm.action import ExecuteMission
from skm.msg import MachineState

from skm_primitives.recording.files import read_recording, recorded_missions
from skm_primitives.recording.verification import verify_mission
from skm_ros.client.monitoring import Heard
from skm_ros.client.private_domain import private_domain_id
from skm_ros.client.queue import read_queue, resume_mission
from skm_ros.nodes.mission_steps import NOT_HEARD

Goal, Result = ExecuteMission.Goal, ExecuteMission.Result
TOUR = "F D"
for place in ("C", "B", "A", "office", "coffee", "C", "A", "mail", "B", "D", "A"):
    TOUR = f"F({place} & X {TOUR})"
TOUR = f"{TOUR} & G !decoration"


@pytest.fixture
def kept(tmp_path):
    """Make a system of an office that keeps its missions, and records them."""
    made = []

    def make(resume="always", machine=None):
        number = stack.enter_context(private_domain_id())
        state = {"resume": resume, "state_folder": str(tmp_path / "state"), "events": "call"}
        parameters = {
            "machine": {**state, **(machine or {})},
            "recorder": {"folder": str(tmp_path / "runs")},
            "sim": {"seed": 3},
        }
        nodes = ("sim", "primitives", "machine", "recorder")
        made.append(System(number, order=nodes, parameters=parameters))
        made[-1].wait_ready()
        heard = Heard(made[-1].client)

        def records():
            status = heard.diagnostics.get("recorder")
            values = {} if status is None else {one.key: one.value for one in status.values}
            return {"labels", "machine_state"} <= set(values.get("heard", "").split(", "))

        made[-1].wait_until(records, "the recorder")
        return made[-1]

    with ExitStack() as stack:
        yield make
        end_systems(made)


def wait_state(system, state):
    system.wait_until(lambda: system.states.last.state >= state, f"state {state}")


def verified(system, tmp_path, goal):
    """Return what `skm verify` finds in the recording of a mission, once that is closed."""
    found = []

    def is_there():
        found[:] = [
            mission
            for path in sorted((tmp_path / "runs").glob("*.mcap"))
            for mission in recorded_missions(read_recording(path, recover=True))
            if mission.goal_id == goal.goal_id and mission.ended is not None
        ]
        return found and found[0].file.complete

    system.wait_until(is_there, "the recording")
    assert len(found) == 1, "one run, one file"
    return verify_mission(found[0])


def end_of_tour(system, tmp_path, goal):
    """Wait for the end of a tour that was broken off: recorded as one mission that was done once."""
    result = system.finish(goal)
    assert result.outcome == Result.ACCEPTED, result
    found = verified(system, tmp_path, goal)
    assert found.result == "agrees", json.dumps(found.document())
    states = [(move.source, move.target) for move, _ in found.transitions]
    assert states == [(number, number + 1) for number in range(len(states))]


@pytest.mark.parametrize("killed", ["machine", "primitives", "sim"])
def test_a_tour_goes_on_where_it_was(kept, tmp_path, killed):
    system = kept()
    goal = system.send(TOUR)
    wait_state(system, 4)
    system.kill(killed)
    system.start(killed)
    end_of_tour(system, tmp_path, goal)


def test_after_a_restart_of_all_a_mission_waits_for_its_recorder(kept, tmp_path):
    """The recorder hears nothing of it, as on a busy machine: what is done then is no evidence.

    The machine is killed once more while it waits: what it kept of its log must be whole by then.
    """
    system = kept(machine={"peer_timeout": 60.0})
    goal = system.send(TOUR)
    wait_state(system, 4)
    system.processes["recorder"].signal_group(signal.SIGSTOP)
    for killed in (NODES, ("machine",)):
        for name in killed:
            system.kill(name)
        system.states.messages.clear()
        for name in killed:
            system.start(name)
        system.wait_until(
            lambda: system.states.messages and system.states.last.reason == NOT_HEARD, "the wait"
        )
    system.processes["recorder"].signal_group(signal.SIGCONT)
    end_of_tour(system, tmp_path, goal)


def test_with_ask_a_person_lets_it_go_on(kept):
    system = kept(resume="ask")
    goal = system.send(TOUR)
    waiting = system.send("F mail", when=Goal.QUEUE, priority=3)
    wait_state(system, 3)
    system.kill("machine")
    system.start("machine")
    system.wait_until(lambda: "restarted" in goal.queue.reason, "the queue")
    queue = read_queue(goal.queue)
    assert "`skm resume`" in queue.reason
    assert [(one.goal_id, one.under_way) for one in queue.missions] == [
        (goal.goal_id, True),
        (waiting.goal_id, False),
    ]
    system.wait_until(lambda: system.states.last.phase == MachineState.STOPPED, "the mission")
    resume_mission(system.client, 60)
    assert system.finish(goal).outcome == Result.ACCEPTED
    assert system.finish(waiting).outcome == Result.ACCEPTED


def test_a_file_that_is_none_is_refused_with_a_sentence(kept, tmp_path):
    system = kept()
    goal = system.send(TOUR)
    wait_state(system, 2)
    system.kill("machine")
    goal.close()
    system.goals.clear()
    file = tmp_path / "state" / "missions.json"
    kept_text = file.read_text("utf-8")
    told = []
    for text in (kept_text[:100], json.dumps({**json.loads(kept_text), "version": 99}), "[]"):
        file.write_text(text, "utf-8")
        system.start("machine")
        process = system.processes["machine"]
        told.append(
            process.told(r"(the missions of before are not gone on with: .*)", "a sentence")
        )
        assert not file.exists()
        system.kill("machine")
    assert "is damaged" in told[0]
    assert "is of version 99" in told[1]
    assert "is not a file of missions" in told[2]
    system.start("machine")
    system.processes["machine"].told("(ready for missions)", "a machine that is ready")
