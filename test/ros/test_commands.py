"""`skm mission`, `skm status` and `skm up` as people run them: output, exit codes, Ctrl-C."""

import json
import signal

import pytest
from harness import System, skm_process

from skm_cli.private_domain import private_domain_id


@pytest.fixture
def skm(office, processes):
    """Run `skm` beside the shared system; return exit code, standard output, standard error."""

    def run(*arguments):
        office.wait_ready()
        process = skm_process(office.domain_id, *arguments)
        processes.append(process)
        office.wait_until(lambda: process.returncode is not None, " ".join(process.command))
        code = process.stop()
        return code, "\n".join(process.answers), "\n".join(process.output)

    return run


def test_accepted_mission_is_exit_code_0(skm):
    code, out, err = skm("mission", "F(coffee & X F office)", "--start", "2,2")
    assert code == 0, err
    assert "accepted after" in out
    assert "{coffee}" in out
    assert "value" in out


def test_json_is_all_there_is_on_stdout(skm):
    code, out, err = skm(
        "mission", "F A & G !mail", "--planner", "paper", "--start", "7,10", "--json"
    )
    document = json.loads(out)
    assert code == 1, err
    assert (document["outcome"], document["steps"]) == ("failed", 1)
    assert document["transitions"][0]["labels"] == ["mail", "mail_present"]


def test_time_out_is_exit_code_1_unless_rounds_were_completed(skm):
    code, out, _ = skm("mission", "F A", "--start", "10,14", "--max-steps", 3, "--json")
    assert (code, json.loads(out)["outcome"]) == (1, "timed out")
    code, out, _ = skm("mission", "F A & F D", "--repeat", "--seed", 1, "--max-steps", 90, "--json")
    assert (code, json.loads(out)["outcome"]) == (0, "timed out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["F(coffee"], "^"),
        (["F coffe"], "did you mean 'coffee'"),
        (["F(A & B)"], "cannot be achieved"),
        (["F A", "--start", "2;2"], "--start"),
        (["F A", "--max-steps", "-1"], "--max-steps"),
        (["missing.ltl"], "no file"),
        (["F A", "--namespace", "/no such"], "namespace"),
        (["F A", "--namespace", "/nowhere", "--timeout", "0.5"], "skm up demo"),
    ],
)
def test_bad_mission_is_exit_code_2(skm, arguments, said):
    code, out, err = skm("mission", *arguments)
    assert code == 2
    assert said in out + err
    assert "Traceback" not in err


def test_ctrl_c_takes_the_mission_back(office, processes):
    """The first Ctrl-C cancels the goal and waits for its result."""
    office.wait_ready()
    arguments = ["mission", "F A & F C", "--repeat", "--max-steps", 1_000_000, "--json"]
    process = skm_process(office.domain_id, *arguments)
    processes.append(process)
    office.wait_running(steps=3)
    process.signal_group(signal.SIGINT)
    office.wait_until(lambda: process.returncode is not None, "the client's end")
    assert process.stop() == 1, process.transcript()
    assert json.loads("\n".join(process.answers))["outcome"] == "cancelled"
    assert "Traceback" not in process.transcript()
    office.wait_ready()


def test_status_of_a_running_system(skm, office):
    assert skm("mission", "F B", "--seed", 3)[0] == 0
    code, out, err = skm("status", "--json")
    document = json.loads(out)
    assert code == 0, err
    assert document["ready"]
    assert all(part["running"] for part in document["nodes"].values())
    assert {part["health"]["level"] for part in document["nodes"].values()} == {"ok"}
    assert (document["machine"]["mission"], document["machine"]["outcome"]) == ("F B", "accepted")
    assert (document["primitives"]["domain"], document["primitives"]["goals"]) == ("office", 244)

    code, out, _ = skm("status")
    assert code == 0
    assert "the last mission, F B, accepted" in out


def test_status_of_nothing(domain_id, processes):
    process = skm_process(domain_id, "status", "--timeout", 0.5)
    processes.append(process)
    process.wait_for(lambda: process.returncode is not None, "its end")
    process.stop_cleanly(code=2)
    assert "skm up demo" in process.transcript()


def test_status_of_half_a_system(systems, processes):
    system = systems(order=("machine",))
    system.wait_until(lambda: system.states.messages, "the machine")
    process = skm_process(system.domain_id, "status", "--json", "--timeout", 3)
    processes.append(process)
    system.wait_until(lambda: process.returncode is not None, "its end")
    process.stop_cleanly(code=1)
    document = json.loads("\n".join(process.answers))
    assert not document["ready"]
    assert [name for name, part in document["nodes"].items() if part["running"]] == ["machine"]
    assert document["machine"]["phase"] == "waiting"


@pytest.mark.parametrize("options", [[], ["--single-process"]], ids=["three", "single"])
def test_up_starts_a_system_and_ctrl_c_ends_it(domain_id, processes, options):
    """`skm up` on its own: ready, one mission, and a clean end of every process."""
    process = skm_process(domain_id, "up", "demo", "--seed", 3, *options)
    processes.append(process)
    system = System(domain_id, order=())
    system.processes["up"] = process
    system.wait_ready()
    assert system.run("F coffee").outcome == 1
    system.client.close()
    process.stop_cleanly()


def test_up_with_a_mission_ends_with_its_outcome(domain_id, processes):
    """What `make demo` does: start everything, run one mission, leave with its exit code."""
    process = skm_process(domain_id, "up", "demo", "--mission", "F coffee", "--seed", 3)
    processes.append(process)
    process.wait_for(lambda: process.returncode is not None, "the mission's end", 60)
    process.stop_cleanly(code=0)


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
        process.wait_for(lambda: process.returncode is not None, "the benchmark", 120)
        process.stop_cleanly()
    document = json.loads("\n".join(process.answers))
    for variant in ("three_processes", "single_process"):
        row = document[variant]
        ratio = row["bare_steps_per_second"] / row["steps_per_second"]
        assert row["overhead"] == pytest.approx(ratio)
    assert document["in_process"]["steps_per_second"] > 0
