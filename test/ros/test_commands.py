"""`skm mission`, `skm status` and `skm up` as people run them: output, exit codes, Ctrl-C."""

import io
import json
import signal

import pytest
from harness import System, skm_process
from rich.console import Console
from skm.action import ExecuteMission
from skm.msg import MachineState

from skm_cli.main import main
from skm_cli.reports.mission import Progress
from skm_ros.client.private_domain import private_domain_id

OFFICE = ("--domain", "office", "--mode", "lockstep", "--seed", 3)


@pytest.fixture
def skm(capsys, monkeypatch):
    """Run `skm` in this process; return exit code, standard output, standard error."""

    def run(domain_id, *arguments):
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain_id))
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def test_accepted_mission_is_exit_code_0(office, processes):
    """As a process of its own."""
    process = skm_process(office.domain_id, "mission", "F(coffee & X F office)", "--start", "2,2")
    processes.append(process)
    office.wait_until(lambda: process.returncode is not None, "the client's end")
    process.stop_cleanly(code=0)
    out = "\n".join(process.answers)
    assert "accepted after" in out
    assert "{coffee}" in out
    assert "1 of 2: going for coffee" in out
    assert "Done after" in out


def test_json_is_all_there_is_on_stdout(office, skm):
    office.set_parameter("machine", "shield", False)
    try:
        code, out, err = skm(
            office.domain_id,
            *("mission", "F A & G !mail", "--planner", "paper", "--start", "7,10", "--json"),
        )
    finally:
        office.set_parameter("machine", "shield", True)
    document = json.loads(out)
    assert code == 1, err
    assert (document["outcome"], document["steps"]) == ("failed", 1)
    assert document["transitions"][0]["labels"] == ["mail", "mail_present"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["F A", "--max-steps", 3], (1, "timed out")),
        (["F B & F C", "--repeat", "--max-steps", 3], (1, "timed out")),
        (["F B & F C", "--repeat", "--max-steps", 90], (0, "satisfied so far")),
    ],
)
def test_time_out_is_exit_code_1_unless_rounds_were_completed(office, skm, arguments, expected):
    code, out, _ = skm(office.domain_id, "mission", *arguments, "--start", "10,14", "--json")
    assert (code, json.loads(out)["outcome"]) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["F(coffee"], "^"),
        (["F coffe"], "did you mean 'coffee'"),
        (["F(A & B)"], "cannot be achieved"),
        (["F A", "--start", "2;2"], "--start"),
        (["F A", "--max-steps", "-1"], "--max-steps"),
        (["F A", "--max-seconds", "nan"], "--max-seconds"),
        (["missing.ltl"], "no file"),
        (["F A", "--namespace", "/no such"], "namespace"),
        (["F A", "--namespace", "/nowhere", "--timeout", "0.5"], "skm up demo"),
    ],
)
def test_bad_mission_is_exit_code_2(office, skm, arguments, said):
    code, out, err = skm(office.domain_id, "mission", *arguments)
    assert code == 2
    assert said in out + err


def test_ctrl_c_takes_the_mission_back(office, processes):
    """The first Ctrl-C cancels the goal and waits for its result."""
    mission = "F mail & F D"
    arguments = ["mission", mission, "--repeat", "--max-steps", 1_000_000, "--json"]
    process = skm_process(office.domain_id, *arguments)
    processes.append(process)
    office.wait_running(mission)
    process.signal_group(signal.SIGINT)
    office.wait_until(lambda: process.returncode is not None, "the client's end")
    assert process.stop() == 1, process.transcript()
    assert json.loads("\n".join(process.answers))["outcome"] == "cancelled"
    assert "Traceback" not in process.transcript()
    office.wait_ready()


def test_status_of_a_running_system(office, skm):
    assert office.run("F B").outcome == ExecuteMission.Result.ACCEPTED
    code, out, err = skm(office.domain_id, "status", "--json")
    document = json.loads(out)
    assert code == 0, err
    assert document["ready"]
    assert all(part["running"] for part in document["nodes"].values())
    assert {part["health"]["level"] for part in document["nodes"].values()} == {"ok"}
    assert (document["machine"]["mission"], document["machine"]["outcome"]) == ("F B", "accepted")
    assert (document["primitives"]["domain"], document["primitives"]["goals"]) == ("office", 244)

    code, out, _ = skm(office.domain_id, "status")
    assert code == 0
    assert "the last mission, F B, accepted" in out


def test_status_of_nothing(domain_id, skm):
    code, out, err = skm(domain_id, "status", "--timeout", 0.5)
    assert (code, out) == (2, "")
    assert "skm up demo" in err


def test_status_of_half_a_system(systems, skm):
    system = systems(order=("machine",))
    system.wait_until(lambda: system.states.messages, "the machine")
    code, out, _ = skm(system.domain_id, "status", "--json", "--timeout", 2)
    document = json.loads(out)
    assert code == 1
    assert not document["ready"]
    assert [name for name, part in document["nodes"].items() if part["running"]] == ["machine"]
    assert document["machine"]["phase"] == "waiting"


@pytest.mark.parametrize("options", [[], ["--single-process"]], ids=["three", "single"])
def test_up_starts_a_system_and_ctrl_c_ends_it(domain_id, processes, options):
    """`skm up` on its own: ready, one mission, and a clean end of every process."""
    process = skm_process(domain_id, "up", "demo", *OFFICE, "--mission", "", *options)
    processes.append(process)
    system = System(domain_id, order=())
    system.processes["up"] = process
    system.wait_ready()
    assert system.run("F coffee").outcome == ExecuteMission.Result.ACCEPTED
    system.client.close()
    process.stop_cleanly()


def test_up_with_a_mission_runs_it_and_stays_up(domain_id, processes, tmp_path):
    options = ["--mission", "F coffee", "--picture", tmp_path / "run.svg"]
    process = skm_process(domain_id, "up", "demo", *OFFICE, *options)
    processes.append(process)
    process.wait_for(lambda: "picture of the run" in process.transcript(), "the mission's end")
    process.stop_cleanly()
    assert "accepted after" in process.transcript()
    assert "F coffee" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ("safety", "F(button & X F cylinder) & G !region")),
        (["--domain", "office"], ("office", "F(coffee & X F office) & G !decoration")),
        (
            ["--domain", "moving_targets"],
            (
                "moving_targets",
                "F(blue & X F(purple & X F((circle | square) & !(blue | purple))))",
            ),
        ),
    ],
    ids=["safety", "office", "moving_targets"],
)
def test_demo_ends_with_the_mission_accepted_and_a_picture(
    domain_id, processes, tmp_path, options, shown
):
    """What `make demo` runs; every state of the run is on the picture's path."""
    picture = tmp_path / "demo.svg"
    process = skm_process(domain_id, "demo", *options, "--picture", picture, "--json")
    processes.append(process)
    process.wait_for(lambda: process.returncode is not None, "its end", timeout=150)
    process.stop_cleanly()
    document = json.loads("\n".join(process.answers))
    assert document["outcome"] == "accepted"
    assert (document["domain"], document["mission"]) == shown
    assert document["mode"] == "realtime"
    assert document["picture"] == [str(picture), str(picture.with_suffix(".png"))]
    assert picture.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_demo_whose_mission_fails_is_exit_code_1(domain_id, processes, tmp_path):
    """The picture is left all the same."""
    picture = tmp_path / "demo.svg"
    process = skm_process(domain_id, "demo", "X button", "--picture", picture, "--json")
    processes.append(process)
    process.wait_for(lambda: process.returncode is not None, "its end", timeout=150)
    process.stop_cleanly(code=1)
    assert json.loads("\n".join(process.answers))["outcome"] == "failed"
    assert "failed after" in picture.read_text()


def test_up_reports_a_child_that_cannot_start(domain_id, processes):
    """The death of one node ends all, with its last words and an exit code that is not 0."""
    process = skm_process(domain_id, "up", "demo", "--checkpoint", "/nowhere.safetensors")
    processes.append(process)
    process.wait_for(lambda: process.returncode is not None, "the end")
    assert process.stop() != 0
    assert "/nowhere.safetensors" in process.transcript()
    assert "Traceback" not in process.transcript()


def test_bench_gives_the_keys_that_the_claim_is_about(processes):
    with private_domain_id() as domain_id:
        process = skm_process(domain_id, "bench", "loop", "--steps", 40, "--rounds", 1, "--json")
        processes.append(process)
        process.wait_for(lambda: process.returncode is not None, "the benchmark", 240)
        process.stop_cleanly()
    document = json.loads("\n".join(process.answers))
    for variant in ("three_processes", "single_process"):
        row = document[variant]
        ratio = row["bare_steps_per_second"] / row["steps_per_second"]
        assert row["overhead"] == pytest.approx(ratio)
    assert document["in_process"]["steps_per_second"] > 0


def test_bench_of_real_time_tells_what_was_late(processes):
    with private_domain_id() as domain_id:
        arguments = ("bench", "realtime", "--rate", 20, "--steps", 40, "--json")
        process = skm_process(domain_id, *arguments)
        processes.append(process)
        process.wait_for(lambda: process.returncode is not None, "the benchmark", 240)
        process.stop_cleanly()
    document = json.loads("\n".join(process.answers))
    assert document["steps"] == 40
    assert document["late"] == document["late_steps"] / 40
    assert 0 <= document["late_before_first_action"] <= document["late_steps"] <= 40
    assert 0 < document["rate"] < 25
    latency = document["latency_ms"]
    assert 0 < latency["median"] <= latency["p95"] <= latency["p99"] <= latency["worst"]
    asleep = document["bare_timer_late_ms"]
    assert 0 < asleep["median"] <= asleep["p99"] <= asleep["worst"]


def test_a_mission_file_in_plain_words_is_sent(office, skm, tmp_path):
    file = tmp_path / "errand.yaml"
    file.write_text(
        "mission: visit coffee then desk; never decoration\n"
        "places: {desk: office}\nlimits: {steps: 200}\nplanner: product\n"
    )
    code, out, err = skm(office.domain_id, "mission", file, "--start", "2,2", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["mission"] == "visit coffee then (office); never decoration"
    assert document["outcome"] == "accepted"


def test_a_mission_whose_machine_grows_too_large_is_refused(office, skm):
    mission = "G(A -> F[20,60] B) & F C"
    code, out, _ = skm(office.domain_id, "mission", mission, "--json")
    assert code == 2
    assert "grows too large" in json.loads(out)["reason"]


def feedback(step, target, state=0, accepted=0, reason=""):
    phase = MachineState.STOPPED if reason else MachineState.RUNNING
    words = f"{target}, {step}"
    return MachineState(
        **{"phase": phase, "mission_steps": step, "accepted": accepted, "reason": reason},
        **{"words": words, "target": target, "state": state},
    )


def test_a_stop_that_lasts_is_said_to_whoever_waits():
    """It may be them who have to act: `skm resume`."""
    reason = "nothing is heard from the robot: `skm resume` goes on"
    now = [0.0]
    text = io.StringIO()
    progress = Progress(Console(file=text, force_terminal=False, width=60), lambda: now[0])
    progress.show(feedback(3, "coffee"))
    for now[0] in (1.0, 1.2):  # over sooner than it is worth a line
        progress.show(feedback(3, "coffee", reason="something stands in the way"))
    progress.show(feedback(4, "coffee"))
    for now[0] in (5.0, 6.0, 7.0, 8.0):
        progress.show(feedback(4, "coffee", reason=reason))
    progress.show(feedback(4, "coffee"))
    assert text.getvalue().splitlines() == [
        "  step 3     coffee, 3",
        f"  step 4     stopped: {reason}",
        "  step 4     coffee, 4",
    ]


def test_progress_is_one_line_on_a_terminal_and_a_line_a_leg_elsewhere():
    shown = {}
    for terminal in (True, False):
        text = io.StringIO()
        progress = Progress(Console(file=text, force_terminal=terminal, width=60))
        for step in range(10):
            progress.show(feedback(step, "coffee" if step < 5 else "office", state=step // 5))
        progress.clear()
        shown[terminal] = text.getvalue()
    assert shown[True].count("\n") == 0
    assert shown[True].count("\r") == 11
    assert shown[False].splitlines() == ["  step 0     coffee, 0", "  step 5     office, 5"]
