"""Environments that are wrong get one clear sentence, from `check_domain` and from `skm train`."""

import multiprocessing
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.learning import training
from skm_primitives.learning.training import locked
from skm_primitives.skills import checkpoint
from skm_sim import DomainSpec, check_domain, label_env
from skm_sim.tabular import tabular_model

LENGTH = 9


class Line(gymnasium.Env):
    """A point on a line, pushed to the left or right; subclasses break one thing each."""

    propositions = ("left", "right")
    constraints = ()
    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def labels(self):
        here = {"left"} if self.place <= -0.9 else {"right"} if self.place >= 0.9 else set()
        return frozenset(here)

    def seen(self):
        return np.array([self.place, 0.5], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-0.5, 0.5), 0
        return self.seen(), {"labels": self.labels()}

    def step(self, action):
        self.steps += 1
        self.place = float(np.clip(self.place + 0.3 * action[0], -1, 1))
        return self.seen(), 0.0, False, False, {"labels": self.labels()}

    def hot(self, action):
        raise RuntimeError("the motor is hot")


class NotANumber(Line):
    faulty = True

    def seen(self):
        wrong = self.faulty and self.place > 0.8
        return np.array([self.place, np.nan if wrong else 0.5], np.float32)


class Stranger(Line):
    def labels(self):
        return frozenset({"middle"})


class Text(Line):
    def labels(self):
        return "left"


class Raises(Line):
    faulty = True

    def step(self, action):
        if self.faulty and self.place > 0.8:
            return self.hot(action)
        return super().step(action)


class Constant(Line):
    def seen(self):
        return np.zeros(2, np.float32)


class BadPredicate(Line):
    def labels(self):
        return frozenset({"left"}) if self.no_such_attribute else frozenset()


def failing_predicate():
    """An environment without labels of its own, labelled by a predicate that raises."""
    bare = {"left": lambda seen, info, env: seen[0] <= -0.9, "right": lambda *_: 1 / 0}
    return label_env(Line(), bare)


BROKEN = [
    (NotANumber, "holds not-a-number"),
    (Stranger, "middle: add to propositions or drop"),
    (Text, "a frozenset of proposition names"),
    (Raises, "the motor is hot"),
    (Constant, "was the same, whatever was done"),
    (BadPredicate, "no_such_attribute"),
    (failing_predicate, "predicate of 'right' failed (ZeroDivisionError"),
]


def spec_of(cls, env_id="", **changes):
    env_id = env_id or f"test_bad/{cls.__name__}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=cls)
    fields = {"gamma": 0.95, "primitive_steps": 10, "propositions": Line.propositions} | changes
    return DomainSpec(cls.__name__.lower(), env_id, constraints=(), tasks={}, **fields)


for _cls in (Line, *(cls for cls, _ in BROKEN)):
    globals()[_cls.__name__.upper()] = spec_of(_cls)
UNFIT = spec_of(Line, propositions=("left", "middle"))
NOWHERE = DomainSpec("nowhere", "test_bad/Nowhere-v0", ("a",), (), 0.9, 10, {})


def place(name):
    return f"{__name__}:{name}"


def skm(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize(("cls", "message"), BROKEN)
def test_each_is_told_by_the_checker_and_by_train(cls, message, tmp_path, capsys):
    problems = check_domain(spec_of(cls))
    assert any(message in problem for problem in problems)
    assert skm("train", place(cls.__name__.upper()), "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert message in said
    assert "cannot be learned as it is" in said
    assert not list(tmp_path.iterdir())


def test_a_spec_that_does_not_fit_its_environment(tmp_path, capsys):
    assert skm("train", place("UNFIT"), "--out", tmp_path / "out") == 2
    assert "disagree on propositions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cls", "message"),
    [(NotANumber, "holds not-a-number"), (Raises, "failed in step() (RuntimeError: the motor")],
)
def test_a_fault_that_comes_late_ends_the_run_with_what_was_learned_saved(
    cls, message, tmp_path, monkeypatch
):
    monkeypatch.setattr(cls, "faulty", False)
    spec, out = spec_of(cls), tmp_path / "run.safetensors"
    options = {"agents": 4, "batch": 8, "hidden": (8,), "replay": 400, "validate_rounds": 1000}
    learner = training.make_learner(spec, options, out, resume=False, overwrite=False)
    learner.run_round = late_fault(learner, learner.run_round, cls)
    with pytest.raises(Exception, match="The run is saved as it was after") as raised:
        training.train(learner, 10_000, out, "test")
    assert message in str(raised.value)
    assert checkpoint.load(out)[1].steps == learner.steps > 0


def test_a_fault_in_a_validation_ends_the_run_with_what_was_learned_saved(tmp_path, monkeypatch):
    spec, out = spec_of(Line), tmp_path / "run.safetensors"
    options = {"agents": 4, "batch": 8, "hidden": (8,), "replay": 400, "validate_rounds": 3}
    learner = training.make_learner(spec, options, out, resume=False, overwrite=False)
    validate = learner.validate

    def failing():
        monkeypatch.setattr(Line, "step", Line.hot)
        return validate()

    learner.validate = failing
    with pytest.raises(SkmError, match=r"RuntimeError: the motor is hot.* The run is saved as it"):
        training.train(learner, 10_000, out, "test")
    assert checkpoint.load(out)[1].steps == learner.steps == 3 * learner.round_steps


def late_fault(learner, run_round, cls):
    """Let the environment be in order for two rounds, then go to the right, where it is not."""

    def run():
        if learner.rounds >= 2:
            cls.faulty = True
            learner.algorithm.explore = lambda chosen, *_: np.full_like(chosen, 2)
        run_round()

    return run


def test_an_environment_that_nobody_registered(tmp_path, capsys):
    assert skm("train", place("NOWHERE"), "--out", tmp_path / "out") == 2
    assert "gymnasium.register" in capsys.readouterr().err
    with pytest.raises(
        Exception, match="Gymnasium does not know the environment 'test_bad/Nowhere"
    ):
        NOWHERE.make()


def test_a_domain_module_that_raises(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_domain.py").write_text("SPEC = 1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert skm("train", "broken_domain:SPEC") == 2
    assert "'broken_domain' fails when it is imported (ZeroDivisionError" in capsys.readouterr().err
    assert "broken_domain" not in sys.modules


@pytest.mark.parametrize("command", [("run", "office", "F mail"), ("eval", "office")])
def test_a_seed_below_zero(command, capsys):
    with pytest.raises(SystemExit) as ended:
        skm(*command, "--seed", -1)
    assert ended.value.code == 2
    assert "a seed is a whole number from 0 up, not '-1'" in capsys.readouterr().err


def test_pictures_go_into_folders_that_do_not_exist_yet(tmp_path):
    picture, machine = tmp_path / "new" / "run.png", tmp_path / "other" / "machine.svg"
    assert skm("run", "office", "F mail", "--render", picture) == 0
    assert skm("check", "F mail", "--domain", "office", "--draw", machine) == 0
    assert picture.stat().st_size
    assert machine.stat().st_size


def test_a_picture_that_cannot_be_written_is_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "x"
    assert skm("run", "office", "F mail", "--render", below.with_suffix(".png")) == 2
    assert skm("check", "F mail", "--draw", below.with_suffix(".svg")) == 2
    assert capsys.readouterr().err.count("skm: cannot write") == 2


def hold(out, held, release):
    with locked(out):
        held.set()
        release.wait(30)


def test_two_trainings_with_one_out(tmp_path, capsys):
    out = tmp_path / "office.safetensors"
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    other = context.Process(target=hold, args=(out, held, release))
    other.start()
    try:
        assert held.wait(30)
        assert skm("train", "office", "--steps", 2000, "--out", out) == 2
        assert f"another run (process {other.pid}) is writing" in capsys.readouterr().err
    finally:
        release.set()
        other.join()
    assert skm("train", "office", "--steps", 2000, "--out", out) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["office.json", out.name]


def test_finetune_says_what_a_tabular_world_is():
    class Cells(Line):
        observation_space = Discrete(LENGTH)

    spec = spec_of(Cells)
    with pytest.raises(Exception, match=r"no TabularModel as its attribute 'model'.*domains.md"):
        tabular_model(spec)
