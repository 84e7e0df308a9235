"""What was once refused, or crashed: each kind of environment is trained, run and evaluated by commands.

Every environment here is a plain `gymnasium.Env` of the same short line; they differ in what is
observed, in how one acts, and in how episodes end.
"""

import json
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from skm_cli.main import main
from skm_machine.errors import SkmError
from skm_primitives.figures import draw_figure
from skm_primitives.figures.value_map import spot_means
from skm_sim import DomainSpec, check_domain, label_env

SIDE = 3
"""Places go from -3 to 3."""
EASY = {"hidden": "32", "agents": 8, "batch": 64, "update_every": 4, "replay": 4000, "gamma": 0.9}
EASY |= {"learning_rate": 0.003, "average_rate": 0.05, "action_gap": 0, "validation_layouts": 2}
SETTINGS = [part for item in EASY.items() for part in ("--set", "{}={}".format(*item))]
ROUND = 8 * 12


class Line(gymnasium.Env):
    """A walk on a line, observed as a vector, acted on by a box of one number."""

    propositions = ("left", "right")
    constraints = ()
    observation_space = Box(-SIDE, SIDE, (1,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def labels(self):
        return frozenset({-SIDE: {"left"}, SIDE: {"right"}}.get(self.place, ()))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(1 - SIDE, SIDE))
        return self.seen(), {"labels": self.labels()}

    def step(self, action):
        self.place = int(np.clip(self.place + self.way(action), -SIDE, SIDE))
        return self.seen(), 0.0, self.is_over(), False, {"labels": self.labels()}

    def seen(self):
        return np.array([self.place], np.float32)

    def way(self, action):
        return round(float(np.mean(action)))

    def is_over(self):
        return False


class Ends(Line):
    """The left end is the end of the world."""

    def is_over(self):
        return self.place == -SIDE


class Choices(Line):
    action_space = Discrete(2)

    def way(self, action):
        return 2 * int(action) - 1


class Digits(Choices):
    """Every place has a label set of its own, and twelve propositions make more than eight of them."""

    propositions = ("left", "right", *(f"bit{n}" for n in range(10)))

    def labels(self):
        digits = {f"bit{n}" for n in range(10) if self.place % (n + 2) == 0}
        return super().labels() | digits


class SixControls(Line):
    action_space = Box(-1.0, 1.0, (6,), np.float32)

    def way(self, action):
        return int(np.sign(np.mean(action)))


class Pictures(Choices):
    observation_space = Box(0, 255, (1, 2 * SIDE + 1, 1), np.uint8)

    def seen(self):
        picture = np.zeros((1, 2 * SIDE + 1, 1), np.uint8)
        picture[0, self.place + SIDE] = 255
        return picture


class Parts(Choices):
    """A Dict of observations, of an environment without labels."""

    observation_space = Dict({"place": Box(-SIDE, SIDE, (1,), np.float32), "clock": Discrete(9)})

    def seen(self):
        return {"place": super().seen(), "clock": 3}


class Field(Choices):
    """A square of places with a corner to reach; x and y are observed, each pushed in turn."""

    propositions = ("corner", "puddle")
    constraints = ("puddle",)
    observation_space = Box(-SIDE, SIDE, (2,), np.float32)
    action_space = Discrete(4)

    def labels(self):
        there = {(SIDE, SIDE): {"corner"}, (0, 1): {"puddle"}}.get(tuple(self.place), ())
        return frozenset(there)

    def reset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        self.place = self.np_random.integers(-SIDE, SIDE, size=2, endpoint=True).tolist()
        return self.seen(), {"labels": self.labels()}

    def way(self, action):
        return ((1, 0), (0, 1), (-1, 0), (0, -1))[int(action)]

    def step(self, action):
        self.place = np.clip(np.add(self.place, self.way(action)), -SIDE, SIDE).tolist()
        return self.seen(), 0.0, False, False, {"labels": self.labels()}

    def seen(self):
        return np.array(self.place, np.float32)


def labelled_parts():
    ends = {"left": -SIDE, "right": SIDE}
    predicates = {
        name: lambda observation, info, env, end=end: observation["place"][0] == end
        for name, end in ends.items()
    }
    return label_env(Parts(), predicates, observation_key="place")


def spec_of(name, entry, **options):
    env_id = f"skm_any/{name}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=entry, **options)
    propositions = getattr(entry, "propositions", Line.propositions)
    return DomainSpec(name, env_id, propositions, (), 0.9, 12, {})


BOXES = spec_of("boxes", Line)
ENDS = spec_of("ends", Ends)
TIME_LIMIT = spec_of("time_limit", Line, max_episode_steps=7)
MANY_LABEL_SETS = spec_of("many_label_sets", Digits)
SIX_CONTROLS = spec_of("six_controls", SixControls)
CHOICES = spec_of("choices", Choices)
PICTURES = spec_of("pictures", Pictures)
PARTS = spec_of("parts", labelled_parts)
FIELD = replace(spec_of("field", Field), constraints=("puddle",), position=(0, 1))
KINDS = ("BOXES", "ENDS", "TIME_LIMIT", "MANY_LABEL_SETS", "SIX_CONTROLS", "CHOICES", "PICTURES")


def skm(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize("name", [*KINDS, "PARTS"])
def test_it_is_checked_trained_run_and_evaluated(name, tmp_path, capsys):
    place, out = f"{__name__}:{name}", tmp_path / "skills"
    assert check_domain(globals()[name]) == []
    assert skm("train", place, "--steps", 20 * ROUND, "--out", out, *SETTINGS) == 0
    chosen = ("--checkpoint", out)
    assert skm("run", place, "F right", "--max-steps", 100, *chosen) == 0
    assert "accepted after" in capsys.readouterr().out
    assert skm("eval", place, "--missions", 2, "--episodes", 2, *chosen) == 0
    assert "4 runs: success" in capsys.readouterr().out
    assert skm("plot", "trajectories", place, "--out", tmp_path / "x.png", *chosen) == 2
    assert "has no tasks" in capsys.readouterr().err


def test_skills_that_are_missing_are_asked_for_by_a_command_that_works(capsys):
    assert skm("run", f"{__name__}:CHOICES", "F right") == 2
    assert "`skm train DOMAIN --out FILE.safetensors` makes one" in capsys.readouterr().err


def test_values_are_drawn_where_the_observation_has_a_position(tmp_path, capsys):
    """A field of two numbers, x and y, and a corner to go to: skills with and without a puddle."""
    place, out = f"{__name__}:FIELD", tmp_path / "skills"
    assert skm("train", place, "--steps", 4 * ROUND, "--out", out, *SETTINGS) == 0
    picture = tmp_path / "values.png"
    capsys.readouterr()
    assert skm("plot", "values", place, "--checkpoint", out, "--out", picture, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["primitives"] == ["corner", "puddle", "corner, strict"]
    assert told["states"] == 64 * 6 * 13
    assert picture.stat().st_size


def test_spots_have_the_mean_of_their_states():
    places = np.array([[0.0, 0.0], [0.001, 0.0], [64.0, 16.0]])
    mean, edges = spot_means(places, np.array([0.2, 0.4, 1.0], np.float32))
    assert mean.shape == (16, 64)
    assert np.isnan(mean).sum() == mean.size - 2
    assert (mean[0, 0], mean[-1, -1]) == (pytest.approx(0.3), 1.0)
    assert edges.tolist() == [[0, 0], [64, 16]]


def test_values_over_positions_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(SkmError, match=r"position is \(0, 5\), .* has 2 numbers"):
        draw_figure(replace(FIELD, position=(0, 5)), "values")
    with pytest.raises(SkmError, match="nor the two numbers of an observation that are x and y"):
        draw_figure(CHOICES, "values")
