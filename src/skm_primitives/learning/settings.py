"""The settings of learners by name: what there is, what it means, and values given as text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Final, get_args, get_origin, get_type_hints

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from skm_machine.errors import SkmError, did_you_mean
from skm_primitives.learning.trainer import TrainerSettings, renamed
from skm_primitives.skills.encoders import GRID_DIMENSIONS
from skm_primitives.skills.goal_space import CONSTRAINT_SETS
from skm_sim.spec import DomainSpec

# The settings of a learner by name: what there is, what it means, and values given as text.


@dataclass(frozen=True)
class Setting:
    """One setting: its name, its default and what it means."""

    name: str
    default: Any
    meaning: str


def settings_of(settings: type[Any]) -> list[Setting]:
    """Return the settings of a dataclass, with the text that stands below each in its source."""
    meanings: dict[str, str] = {}
    for cls in reversed(settings.__mro__[:-1]):
        meanings |= _texts(cls)
    return [
        Setting(
            entry.name,
            None if entry.default is MISSING else entry.default,
            meanings.get(entry.name, ""),
        )
        for entry in fields(settings)
    ]


def of_preset(settings: type[Any], name: str | None) -> dict[str, Any]:
    """Return what a preset of the settings has otherwise, its name included; none, if none is asked."""
    if name is None:
        return {}
    known: Mapping[str, Mapping[str, Any]] = getattr(settings, "presets", {})
    if name not in known:
        raise SkmError(f"there is no preset '{name}'{did_you_mean(name, list(known))}")
    return {"preset": name, **known[name]}


def parse_settings(settings: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return `name=value` arguments as values of the types that the settings have."""
    types = get_type_hints(settings)
    known = [entry.name for entry in fields(settings)]
    parsed = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SkmError(f"--set takes name=value, such as agents=16, not '{text}'.")
        if name not in known:
            raise SkmError(f"there is no setting '{name}'{did_you_mean(name, known)}")
        parsed[name] = _value(name, types[name], value)
    return parsed


def _value(name: str, kind: Any, text: str) -> Any:  # noqa: ANN401 - a type, and a value of it
    try:
        if get_origin(kind) is tuple:
            item = get_args(kind)[0]
            return tuple(item(part) for part in text.strip("()[]").split(",") if part.strip())
        if kind is bool:
            return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
        return kind(text) if kind in (int, float) else text
    except (ValueError, KeyError):
        wanted = {bool: "yes or no", int: "a whole number", float: "a number"}
        what = wanted.get(kind, "numbers with commas between them")
        raise SkmError(f"the setting {name} is {what}, not '{text}'.") from None


def _texts(cls: type[Any]) -> dict[str, str]:
    """Return the strings that stand below the fields of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


# The choices of a run of the network learners for vectors of observations.


ALGORITHMS = ("dqn", "td3")
BACKUPS = ("step", "episode")
SINGLE_WORLDS = 12
"""Worlds of each skill in a validation, where each is an environment of its own."""

PAPER: dict[str, Any] = {
    "algorithm": "td3",
    "hidden": (2024, 2024, 2024),
    "agents": 1,
    "batch": 100,
    "update_every": 1,
    "replay": 1_000_000,
    "learning_rate": 1e-3,
    "gamma": 0.99,
    "noise": 0.2,
    "target_noise": 0.2,
    "horizon": 1_000_000,
    "validate_rounds": 500,
}
"""The paper's sizes; what it leaves open is as in Spinning Up's TD3."""


@dataclass(frozen=True)
class DeepSettings(TrainerSettings):
    """Everything about a run; a resumed run keeps what it was started with."""

    algorithm: str = "dqn"
    """`dqn`: double DQN over a few actions. `td3`: the paper's, for continuous ones."""
    device: str = "auto"
    """Where networks learn: `auto` is a GPU where there is one; `cpu`; `cuda`, `cuda:1`."""
    hidden: tuple[int, ...] = (256, 256)
    agents: int = 32
    """Agents that act side by side."""
    batch: int = 256
    update_every: int = 32
    """Environment steps to one update of the networks."""
    replay: int = 800_000
    """Transitions remembered."""
    learning_rate: float = 5e-4
    """Constant for the first half of the run, then falling in a line to a twentieth."""
    gamma: float = 0.97
    """The discount while learning. In a deterministic world a value γ^k is turned into that of any
    other discount by a power, so it changes no preference; a smaller one is told apart better."""
    average_rate: float = 0.005
    """How fast the averaged networks, which act and bootstrap, follow the trained ones."""
    action_gap: float = 0.8
    """DQN: how much of an action's disadvantage is taken off its value once more (advantage
    learning); the gap between the best action and the others grows by 1 / (1 − action_gap)."""
    noise: float = 0.2
    """TD3: standard deviation of the controls' noise when acting."""
    target_noise: float = 0.2
    """TD3: of the noise on the next action in targets, clipped at 0.5."""
    goals_each: int = 2
    """TD3, and DQN with any avoid sets: goals drawn for each transition of a batch."""
    double: bool = False
    """DQN: whether the trained networks choose the next action whose value bootstraps."""
    first_logit: float = -2.0
    """Where values begin: what is unknown is taken for far, not half-way."""
    members: int = 2
    """DQN: networks side by side, the least of whose values counts."""
    channels: int = 32
    """Images: planes of each convolution, or of the layer that patches share."""
    pixels: int = 0
    """Images: the longer side to which they are averaged; 0: as they are up to 48 pixels, else
    halved until they are no larger."""
    patch: int = 0
    """Images: pixels a side of patches that share one layer, as tiles do; 0: convolutions."""
    backup: str = "step"
    """Images: how deep targets are. `step`: one step. `episode`: through all that an episode showed,
    pictures that are alike being one state; for worlds that are deterministic and seen as a whole."""
    explore: tuple[float, float] = (0.01, 0.5)
    """DQN: shares of random steps, of the agent that has the least of them and of the one with most."""
    episode: int = 0
    """Environment steps of an episode while learning; 0: as many as the domain says."""
    explorers: float = 0.0
    """Images: share of agents that pursue nothing, but do what they tried least where they are, and
    avoid what would show a label: so that episodes show more of a world before it changes."""
    untried: bool = False
    """DQN: whether agents that see the very same again in an episode do what they tried there least."""
    returns: float = 0.0
    """The most episodes, as a share, that begin with a learned skill, to a label set that is reached
    reliably and was rarely shown, and explore from there: for worlds that need a sequence to be opened.
    The more reliably every proposition is reached, the fewer."""
    half: bool = False
    """Images: multiply hidden layers in bfloat16 while learning: twice as fast on CPUs that can, such
    as those with AVX512_BF16, and far slower on others."""
    continuation: bool = False
    """Images: learn besides what each goal will be worth where each label set is shown next."""
    sets: str = "two"
    """Avoid sets that are learned. `two`: all constraints, or none. `all_but_one`: these, and each
    constraint alone; each set more is a goal more for every label set. `any`: the avoid set is an input
    of the network; the default of domains with several constraints."""
    legs: int = 1
    """DQN with any avoid sets: with 2 it is also learned what it is worth to achieve a goal and then
    show a label set, so that of several ways the one is taken from which it goes on well."""
    momentary: bool = False
    """Whether labels are of single steps, as of an object that was just collected: that one is over
    again violates nothing then."""
    clearance_penalty: bool = True
    """Whether a step that ends close to what must be avoided counts as several, if the encoder tells."""
    waves: int = 0
    """Sines and cosines of every observed number, at this many frequencies, that are added to the
    inputs: for values that jump, as at the walls of a maze. Three cost a tenth more."""
    horizon: int = 960_000
    """Environment steps that the run is planned for; the step size falls towards its end."""
    patience: float = 0.5
    """The share of the plan without a validation at least as good as the best before, after which a run
    ends early; 1: never. What is asked for by `--steps` is taken in any case."""
    slots: int = 8
    """Label sets that there is room for to begin with; it doubles when they run out."""
    validation_layouts: int = 64
    """Worlds of each skill in a validation."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cpu": {}, "paper": PAPER}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm not in ALGORITHMS:
            hint = did_you_mean(self.algorithm, ALGORITHMS)
            raise SkmError(f"no algorithm '{self.algorithm}'{hint}")
        positive = (
            "agents",
            "batch",
            "update_every",
            "replay",
            "horizon",
            "slots",
            "goals_each",
            "channels",
            "members",
        )
        for name in positive:
            if getattr(self, name) < 1:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("waves", "pixels", "patch", "episode"):
            if getattr(self, name) < 0:
                raise SkmError(f"{name} is {getattr(self, name)}; it must be at least 0.")
        if len(self.explore) != 2 or not 0 < self.explore[0] <= self.explore[1] < 1:
            raise SkmError(
                f"explore is {self.explore}; two shares between 0 and 1, the lesser first."
            )
        shares = {
            "explorers": self.explorers,
            "patience": self.patience,
            "returns": self.returns,
        }
        if wrong := [name for name, share in shares.items() if not 0 <= share <= 1]:
            raise SkmError(f"{wrong[0]} is {shares[wrong[0]]}; it must be from 0 to 1.")
        if self.backup not in BACKUPS:
            raise SkmError(f"no backup '{self.backup}'{did_you_mean(self.backup, BACKUPS)}")
        self._check_sets()
        if not 0 <= self.action_gap < 1:
            raise SkmError(f"action_gap is {self.action_gap}; it must be from 0 to below 1.")
        if not 0 < self.gamma < 1:
            raise SkmError(f"gamma is {self.gamma}; it must lie between 0 and 1.")

    def _check_sets(self) -> None:
        """Refuse avoid sets that do not go with the other settings."""
        if self.sets not in CONSTRAINT_SETS:
            raise SkmError(
                f"no constraint sets '{self.sets}'{did_you_mean(self.sets, CONSTRAINT_SETS)}"
            )
        if self.sets == "any" and (self.continuation or self.backup != "step" or self.explorers):
            raise SkmError(
                "sets=any goes with backup=step, and without continuation and explorers: these want a"
                " list of goals, as sets=two and sets=all_but_one have."
            )
        if self.legs not in (1, 2) or (
            self.legs == 2 and (self.sets, self.algorithm) != ("any", "dqn")
        ):
            raise SkmError(
                f"legs is {self.legs}; it is 1, or 2 with sets=any and the algorithm dqn."
            )


RETURNS = 0.5
"""`returns`, where a domain says nothing of objects or explorers of its own: anyone's world."""
FEW_NUMBERS = 8
"""Observations of no more numbers are places, as a rule, where labels have sharp edges: with waves."""
UNIVERSAL: dict[str, Any] = {
    "sets": "any",
    "members": 1,
    "double": True,
    "first_logit": -3.0,
    "goals_each": 4,
    "batch": 128,
    "learning_rate": 1e-3,
    "average_rate": 0.01,
    "action_gap": 0.0,
    "replay": 200_000,
    "horizon": 320_000,
    "serve": "last",
    "patience": 1.0,
}
"""What differs where any avoid set is learned: one network, asked about many tasks a transition.

Validations are of single skills that avoid nothing. They come near 1 long before avoid sets are learned,
so they neither end a run nor choose what is served: FlatWorld ended after 208,000 of 320,000 steps,
served what it had after 48,000, and violated 6 of 300 missions.

LetterWorld (images) after 60,000 steps, 47 CPU seconds: 900 of 900 runs of nine missions.
"""
OF_VECTORS: dict[str, Any] = {"gamma": 0.92, "action_gap": 0.6, "horizon": 960_000}
"""And where vectors are observed, whose steps tend to be small.

FlatWorld, success of single skills in validations: with these, 0.99 after 14 CPU seconds, 0.96 to 0.98
after 20 to 40; with no gap 0.96 after 9, then falling to 0.74 at 40 (actions were then held past changes
of labels, too, so that not all of it is the gap's); with γ = 0.97 and no gap 0.46 after 28.
"""


OF_IMAGES: dict[str, Any] = {"legs": 2, "horizon": 352_000}
"""And where images are observed: mostly large worlds of few, large steps. The discount is that of
`discount_for`.

LetterWorld, nine missions × 40 maps, exact values in place of learned ones: with one leg 1.087 times
the fewest steps, since what lies behind a goal is known on the mean; with two legs 1.022. Learned for
107,200 steps (65 CPU seconds), two legs, nine missions × 20 maps: with γ = 0.97 1.099, with 0.9 1.054.
"""
DISCOUNTS: Final = (0.9, 0.97)
HORIZONS_OF_AN_EPISODE: Final = 7.5
"""How often 1 / (1 − γ), the steps that a discount looks ahead, fits into an episode."""


def discount_for(spec: DomainSpec) -> float:
    """Return a discount for worlds of large steps: where episodes are short, so are ways.

    A step more is then a larger share of a value, which is told apart better.
    """
    least, most = DISCOUNTS
    return float(np.clip(1 - HORIZONS_OF_AN_EPISODE / spec.primitive_steps, least, most))


OF_CONTROLS: dict[str, Any] = {"sets": "any", "serve": "last", "patience": 1.0}
"""What differs with TD3: all else stays as it is with two avoid sets."""


def _universal(options: Mapping[str, Any], spec: DomainSpec) -> bool:
    """Tell whether any avoid set is learned: asked for, or with several constraints."""
    if "sets" in options:
        return bool(options["sets"] == "any")
    listed = options.get("continuation") or options.get("backup", "step") != "step"
    return len(spec.constraints) > 1 and spec.objects is None and not listed


def for_actions(options: Mapping[str, Any], spec: DomainSpec) -> dict[str, Any]:
    """Return the options with their preset, and with what a domain's environment takes.

    Choices are learned by DQN. So is a box of actions, over a grid of them, unless it has so many
    dimensions that there is none: that takes TD3. Worlds that do not step as arrays are heavy, so
    that fewer of them are made for validations.
    """
    options = renamed(options)
    env = spec.make()
    acted, seen = env.action_space, env.observation_space
    env.close()
    only = ""
    if isinstance(acted, Discrete):
        only = "dqn"
    elif isinstance(acted, Box) and np.prod(acted.shape) > GRID_DIMENSIONS and not spec.encoder:
        only = "td3"
    asked = options.get("algorithm", only)
    if only and asked in ALGORITHMS and asked != only:
        raise SkmError(f"the algorithm {asked} does not fit the actions {acted}; take {only}.")
    registered = gymnasium.spec(spec.env_id).vector_entry_point is not None
    few = {} if registered else {"validation_layouts": SINGLE_WORLDS}
    given = DeepSettings.with_preset(options)
    if spec.objects is None and not {"explorers", "untried", "backup"} & given.keys():
        given = {"returns": 0.0 if given.get("preset") == "paper" else RETURNS, **given}
    if _universal(given, spec) and given.get("algorithm", asked) == "td3":
        given = {**OF_CONTROLS, **given}
    elif _universal(given, spec):
        vector = len(seen.shape or ()) == 1
        few_numbers = vector and not spec.encoder and np.prod(seen.shape or ()) <= FEW_NUMBERS
        kind = OF_VECTORS if vector else {**OF_IMAGES, "gamma": discount_for(spec)}
        given = {**UNIVERSAL, **kind, **({"waves": 3} if few_numbers else {}), **given}
    return {**few, **given, **({"algorithm": asked} if only else {})}
