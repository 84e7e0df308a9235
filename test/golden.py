"""Recorded behaviour: what must stay the same while the code moves.

    python test/golden.py                  # compare with test/data/golden
    python test/golden.py --record         # record anew (say in the commit what changed, and why)
    python test/golden.py check values     # some parts only

Only public names and the command line are used, so that a move inside the packages changes nothing
here. What is discrete is compared exactly, floats to 1e-5 (kernels differ between CPUs).
"""

import argparse
import contextlib
import gzip
import io
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np
from mcap.reader import make_reader
from safetensors.numpy import load_file

from skm_cli.main import main as skm
from skm_machine import MissionTracker, SkmError, compile_mission
from skm_primitives import MissionRun, load_primitives, make_policy
from skm_sim import domain_names, get_domain

HERE = Path(__file__).parent
GOLDEN = HERE / "data" / "golden"
PROSE = {"reading", "words", "why", "file", "started", "host", "python", "goal_id", "bytes", "skm"}
"""Keys of documents that hold sentences, paths and times: they may change."""
TOLERANCE = 1e-5
AMPLE = "60"
"""Seconds for a translation: with fewer, a busy machine may be left with a larger automaton."""
LONG = 0.2
"""Seconds of a translation that is long."""

BESIDES = {
    "check": ("slow_formulas.json",),
    "values": ("observations.npz",),
    "recording": ("recording.mcap",),
}
"""What parts keep besides their documents; `old_recording.mcap` of 0.1.0 is never made anew."""

RECURRING = (
    "G F A & G F B",
    "G F A & G F C & G !decoration",
    "G F(mail & X F(coffee & X F office)) & G !decoration",
    "G(coffee -> F office) & G F coffee & G !decoration",
    "G(mail -> F office)",
    "F G coffee",
    "F G(!mail & !coffee) & G F A & G F D",
    "G F(A & X F B) | G F(C & X F D)",
    "(G F mail -> G F A) & G F coffee & G !decoration",
    "F mail & G F A & G F C & G !decoration",
    "G(A -> X F C) & G(C -> X F A) & G F A",
)
REACTIVE = (
    ("G(battery_low -> F office) & G F A & G F B", ("battery_low",)),
    ("G(call -> F mail) & G(battery_low -> F office) & G F A", ("call", "battery_low")),
    ("G(person_near -> X !coffee) & G F coffee & G F A", ("person_near",)),
    ("(!A U door_open | G !A) & G F B & G F C", ("door_open",)),
    ("(G F call -> G F office) & G F D & G !decoration", ("call",)),
    ("F(coffee & X F office) & G(call -> F mail) & G !decoration", ("call",)),
)
ON_A_MAP = (
    "F coffee",
    "F(coffee & X F office) & G !wet_floor",
    "F(lab & X F(kitchen & X F dock))",
    "F lab & F kitchen & F coffee & G !wet_floor",
    "G F coffee & G F dock & G !wet_floor",
    "F G dock",
    "F[20,] lab",
    "G[0,30] !lab & F lab",
)
COMMANDS = (
    ("run", "office", "F(coffee & X F office) & G !decoration", "--start", "2,2"),
    ("run", "office", "F(coffee & office)"),
    ("run", "office", "F coffe"),
    ("run", "office", "F coffee", "--max-steps", "1", "--start", "2,2"),
    ("run", "nowhere", "F coffee"),
    ("run", "office", "G F A & G F B", "--max-steps", "100", "--start", "2,2"),
    ("run", "office", "F mail", "--planner", "paper", "--start", "2,2"),
    ("run", "office", "F mail", "--planner", "values", "--start", "2,2"),
    ("eval", "office", "--task", "coffee"),
    ("eval", "office", "--task", "coffee_mail", "--planner", "paper"),
    ("eval", "office_absorbing", "--task", "all", "--planner", "values"),
    ("check", "F("),
    ("check", "F(a & X F b)", "--trace", "a; ; b"),
    ("check", "G F coffee & G !office", "--domain", "office"),
    ("verify", "no_such_file.mcap"),
    ("runs", "no_such_folder"),
)


def check():
    """What `skm check --json` says of every formula in the test data, but for its sentences.

    Of formulas whose translation took long when they were recorded, only the exit code: how small an
    automaton is found within the time depends on the machine.
    """
    kept = GOLDEN / "slow_formulas.json"
    slow = json.loads(kept.read_text()) if kept.exists() else None
    found, took_long = {}, []
    for text in formulas():
        began = time.thread_time()
        code, document = command(("check", text, "--translation-seconds", AMPLE))
        if slow is None and time.thread_time() - began > LONG:
            took_long.append(text)
        whole = text not in (took_long if slow is None else slow)
        found[text] = {"code": code, **(document if whole and isinstance(document, dict) else {})}
    if slow is None:
        kept.write_text(json.dumps(took_long, indent=1) + "\n")
    return found


def formulas():
    """Every formula of the oracles, each once."""
    texts = []
    for name in ("ltlf", "ltl_lasso", "spot_hoa"):
        for line in (HERE / "data" / f"{name}.jsonl").read_text().splitlines():
            texts.append(json.loads(line)["ltl"])
    return list(dict.fromkeys(texts))


def office_actions():
    """Every action from every start, for every task and planner: all is exact there."""
    return {
        f"{domain} {name} {planner}": office_runs(domain, task.formula, planner)
        for domain in ("office", "office_absorbing")
        for name, task in get_domain(domain).tasks.items()
        for planner in ("product", "paper", "values")
    }


def recurring_actions():
    """Every action of recurring missions, from every start."""
    return {text: office_runs("office", text, "product", steps=100) for text in RECURRING}


def event_actions():
    """Every action of reactive missions under scripts of events."""
    found = {}
    for text, events in REACTIVE:
        for number in range(4):
            spans = script(events, number)
            found[f"{text} / {number}"] = office_runs(
                "office", text, "product", 150, events, spans, cells=range(number, 120, 17)
            )
    return found


def script(events, number):
    """Return when which event is true: a few short stretches, at random."""
    random = Random(number)
    return [
        (event, first, first + random.choice((0, 0, 2, 8)))
        for event in events
        for first in sorted(random.sample(range(1, 120), 4))
    ]


def office_runs(domain, text, planner, steps=400, events=(), spans=(), cells=None):
    """Return how a mission ended and its actions, for each start; or why it was refused."""
    spec = get_domain(domain)
    skills, env = load_primitives(spec), spec.make()
    mission = compile_mission(text, propositions=spec.propositions, events=events)
    policy = make_policy(mission, skills, planner=planner)
    runs = []
    for cell in range(120) if cells is None else cells:
        observation, info = env.reset(options={"cell": cell})
        runs.append(one_run(policy, skills, env, observation, info["labels"], steps, spans))
    return runs


def one_run(policy, skills, env, observation, labels, steps, spans=()):
    """Return the outcome, then a character for each action."""
    run = MissionRun(policy, skills, steps)
    try:
        run.begin(observation, labels)
    except SkmError as refused:
        return type(refused).__name__
    actions = []
    while not run.over:
        action = int(run.decide(skills.values(observation, run.history)).action)
        observation, _, _, _, info = env.step(action)
        step = run.tracker.steps + 1
        now = {event for event, first, last in spans if first <= step <= last}
        run.enter(observation, info["labels"] | now)
        actions.append("0123456789ab"[action])
    return f"{run.tracker.status.value} {run.tracker.accepting_visits} {''.join(actions)}"


def map_actions():
    """Every action on the example map, from starts all over it."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "hall")
        assert command(("map", "--example", "--no-picture", "--out", place), json_too=False)[0] == 0
        spec = get_domain(place)
        skills, env = load_primitives(spec), spec.make()
        found = {}
        for text in ON_A_MAP:
            policy = make_policy(compile_mission(text, propositions=spec.propositions), skills)
            runs = []
            for seed in range(12):
                observation, info = env.reset(seed=seed)
                runs.append(one_run(policy, skills, env, observation, info["labels"], 400))
            found[text] = runs
    return found


def values():
    """What every shipped checkpoint says of recorded observations: all of its arrays."""
    recorded = GOLDEN / "observations.npz"
    if not recorded.exists():
        seen = {name: observations(name) for name in sorted(domain_names()) if has_skills(name)}
        np.savez_compressed(recorded, **seen)
    found = {}
    with np.load(recorded) as seen:
        for name in seen.files:
            skills = load_primitives(get_domain(name))
            histories = [frozenset(), frozenset(skills.constraints[:1])]
            found[name] = {
                "goals": [str(goal) for goal in skills.goals],
                "answers": [
                    arrays_of(skills.values(each if each.ndim else each.item(), history))
                    for each in seen[name]
                    for history in histories
                ],
            }
    return found


def has_skills(name):
    """Whether skills come with skm for this domain."""
    try:
        load_primitives(get_domain(name))
    except SkmError:
        return False
    return True


def observations(name, count=3):
    """Return what is seen now and then on random walks."""
    env = get_domain(name).make()
    env.action_space.seed(0)
    seen = []
    for seed in range(count):
        observation, _ = env.reset(seed=seed)
        for _ in range(7 * seed):
            observation, *_ = env.step(env.action_space.sample())
        seen.append(observation)
    return np.array(seen)


def arrays_of(answer):
    """Return the arrays of an answer by name, with few digits: floats are compared to 1e-5."""
    return {
        name: np.round(np.asarray(value, np.float64), 6).tolist()
        for name in ("move", "stop", "value", "spread", "action")
        if isinstance(value := getattr(answer, name, None), np.ndarray)
    }


def training():
    """The first rounds of tables, and of networks as far as kernels do not tell: sizes and sums."""
    found = {}
    for name, steps in (("office", "4000"), ("safety", "1")):
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "run")
            given = ("train", name, "--seed", "0", "--steps", steps, "--out", out)
            code, _ = command(given, json_too=False)
            arrays = load_file(f"{out}.safetensors")
            found[name] = {
                "code": code,
                "card": sorted(json.loads(Path(f"{out}.json").read_text())),
                "arrays": {
                    key: [list(array.shape), float(np.abs(array, dtype=np.float64).mean())]
                    for key, array in sorted(arrays.items())
                    if array.dtype.kind == "f"
                },
            }
    return found


def documents():
    """JSON and exit codes of commands, good and bad ones."""
    found = {" ".join(given): command(given) for given in COMMANDS}
    old = str(GOLDEN / "old_recording.mcap")
    for given in (("verify", old), ("runs", old), ("verify", old, "--mission", "G !decoration")):
        found[" ".join(given).replace(str(GOLDEN), "GOLDEN")] = command(given)
    return found


def recording():
    """The messages of a recorded run, byte for byte but for the random ids (24 bytes at most)."""
    kept = GOLDEN / "recording.mcap"
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new.mcap"
        given = ("run", "office", "F(coffee & X F office) & G !decoration", "--start", "2,2")
        command((*given, "--record", str(new)))
        if not kept.exists():
            kept.write_bytes(new.read_bytes())
        messages = read_mcap(new)
    was = read_mcap(kept)
    return {
        "messages": [[topic, kind, len(data)] for topic, kind, _, data in messages],
        "definitions": {kind: text for _, kind, text, _ in messages},
        "same_bytes": len(was) == len(messages)
        and all(
            sum(a != b for a, b in zip(one[3], other[3], strict=False)) <= 24
            for one, other in zip(was, messages, strict=True)
        ),
    }


def read_mcap(path):
    """Return topic, type, definition and bytes of every message, by the mcap library."""
    with path.open("rb") as file:
        return [
            (channel.topic, schema.name, schema.data.decode(), message.data)
            for schema, channel, message in make_reader(file).iter_messages()
        ]


def command(given, *, json_too=True):
    """Run a command in this process; return its exit code and its document without sentences."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = skm([*given, "--json"] if json_too else list(given))
        except SystemExit as ended:
            code = ended.code
    text = out.getvalue()
    document = json.loads(text) if json_too and text.strip().startswith(("{", "[")) else None
    return code or 0, without_prose(document)


def without_prose(value):
    """Return a document without what may change."""
    if isinstance(value, dict):
        return {key: without_prose(each) for key, each in value.items() if key not in PROSE}
    return [without_prose(each) for each in value] if isinstance(value, list) else value


def trackers():
    """Machine state, violated constraints and status after random traces of every oracle formula."""
    found = {}
    slow = json.loads((GOLDEN / "slow_formulas.json").read_text())
    for text in formulas()[::3]:
        if text in slow:
            continue
        mission = compile_mission(text, max_seconds=float(AMPLE))
        names = sorted(mission.machine.propositions)
        random = Random(text)
        tracker = MissionTracker(mission.machine, names[:1])
        tracker.start([])
        told = []
        for _ in range(12):
            if tracker.status.value != "running":
                break
            tracker.update([name for name in names if random.random() < 0.4])
            told.append([tracker.state, sorted(tracker.violated), tracker.status.value])
        found[text] = told
    return found


PARTS = {
    part.__name__: part
    for part in (
        check,
        trackers,
        office_actions,
        recurring_actions,
        event_actions,
        map_actions,
        values,
        training,
        documents,
        recording,
    )
}


def plain(value):
    """Return a value as JSON gives it back."""
    return json.loads(json.dumps(value))


def differences(was, now, where=""):
    """Yield where two documents differ: exactly, but floats by more than 1e-5."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            if key not in was or key not in now:
                yield f"{where}/{key}: only {'now' if key in now else 'then'}"
            else:
                yield from differences(was[key], now[key], f"{where}/{key}")
    elif isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            yield f"{where}: {len(was)} then, {len(now)} now"
        for index, (one, other) in enumerate(zip(was, now, strict=False)):
            yield from differences(one, other, f"{where}[{index}]")
    elif isinstance(was, float) or isinstance(now, float):
        close = math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        if not close:
            yield f"{where}: {was} then, {now} now"
    elif was != now:
        yield f"{where}: {was!r} then, {now!r} now"


def file_of(part):
    """Return where a part is kept."""
    return GOLDEN / f"{part}.json.gz"


def record(part):
    """Record a part anew; the same behaviour gives the same bytes."""
    for kept in BESIDES.get(part, ()):
        (GOLDEN / kept).unlink(missing_ok=True)
    text = json.dumps(plain(PARTS[part]()), separators=(",", ":"), ensure_ascii=False)
    file_of(part).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def compare(part):
    """Return in what a part differs from what was recorded."""
    was = json.loads(gzip.decompress(file_of(part).read_bytes()))
    return list(differences(was, plain(PARTS[part]())))


def main():
    """Compare, or record anew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    os.chdir(tempfile.mkdtemp())
    different = 0
    for part in args.parts or PARTS:
        if args.record:
            record(part)
            print(f"{part}: {file_of(part).stat().st_size} bytes")
            continue
        found = compare(part)
        different += bool(found)
        print(f"{part}: {len(found)} differences")
        print("\n".join(f"  {line[:200]}" for line in found[:20]))
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
