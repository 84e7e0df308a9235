"""The Zones domain as data: ZoneEnv with the tasks that GenZ-LTL and DeepLTL are measured on."""

from __future__ import annotations

from typing import Final

from skm_sim.object_centric import ObjectSets
from skm_sim.safety_gym.lidar import BINS
from skm_sim.spec import DomainSpec, Registration, Task, task_table
from skm_sim.zones.layout import EACH, Arena

# What bodies make of the zones that a robot sees: how their features are made up, as data.


OWN: Final = 11
"""Features of the robot itself: speeds, heading, place in its own frame, the wall sensor."""
ZONE_FEATURES: Final = 7
NEARNESS: Final = 3
"""Of these the one that falls with distance."""
AVOIDED: Final = 6
"""Zones to avoid that are looked at, the nearest: with four colours, all there can be."""
RAW_OBJECTS: Final = ObjectSets(
    OWN, Arena().names, each=1, features=BINS + 1, nearness=BINS, avoided=3
)
"""Those of `RawZonesEncoder`."""


def objects(colours: int) -> ObjectSets:
    """Return those of `ZonesEncoder`."""
    return ObjectSets(OWN, Arena(colours).names, EACH, ZONE_FEATURES, NEARNESS, AVOIDED)


COLOURS_OF_TASKS: Final = ("blue", "green", "magenta", "yellow")
MAX_STEPS: Final = 1000
HOLD: Final = 5
"""Steps of 0.02 s for which a decision is held."""

FINITE: Final = {
    "phi9": "(F blue) & (!blue U (green & F yellow))",
    "phi10": "!(magenta | yellow) U (blue & F green)",
    "phi11": "!green U ((blue | magenta) & (!green U yellow))",
    "phi12": "((green | blue) -> (!yellow U magenta)) U yellow",
    "phi13": "F(green & (!(blue | yellow) U (magenta & (!yellow U blue)))) & F(!green U yellow)",
    "phi14": "F((blue | green) & (!yellow U (blue & (!green U magenta)))) & F(yellow & (!blue U green))",
    "phi15": "!(magenta | yellow) U (blue & (!green U (yellow & F(green & (!blue U magenta)))))",
    "phi16": "F(blue & (!yellow U (green & F(yellow & (!(magenta | green) U blue)))))",
}
INFINITE: Final = {
    "psi4": "G F blue & G F green & G !(yellow | magenta)",
    "psi5": "G F blue & G F yellow & G F green & G !magenta",
    "psi6": "F G yellow & G !(green | blue | magenta)",
}
HARD: Final = {
    "six_in_turn": "F(blue & F(green & F(magenta & F(yellow & F(blue & F green)))))",
    "eight_in_turn": "F(blue & F(green & F(magenta & F(yellow &"
    " F(blue & F(green & F(magenta & F yellow)))))))",
    "five_two_avoided": "!(yellow | magenta) U (blue & (!(yellow | green) U (magenta &"
    " (!(blue | green) U (yellow & (!(magenta | blue) U (green & (!(yellow | magenta) U blue))))))))",
    "four_any_order": "F blue & F green & F magenta & F yellow"
    " & F(yellow & (!(green | magenta) U blue))",
    "either_pair": "(F(blue & F green) | F(green & F blue)) & F magenta & G !yellow",
}
"""Missions of our own that ask for more: `skm eval zones --task hard`."""

ZONES = DomainSpec(
    name="zones",
    env_id="skm/Zones-v0",
    environments=(
        Registration(
            "skm/Zones-v0",
            entry_point="skm_sim.zones.env:ZonesEnv",
            vector_entry_point="skm_sim.zones.env:ZonesVectorEnv",
            max_episode_steps=MAX_STEPS,
        ),
    ),
    demo="phi15",
    extra="safety: mujoco",
    encoder="skm_sim.zones.encoder:ZonesEncoder",
    objects=objects(len(COLOURS_OF_TASKS)),
    validation="skm_sim.zones.trials:SKILL_TRIALS",
    trials="skm_sim.zones.trials:TRIALS",
    brake="skm_sim.safety_gym.brake:brake",
    team="skm_sim.zones.team:ZonesTeam",
    checkpoint="skm_primitives:checkpoints/zones",
    settings={
        "horizon": 1_280_000,
        "validate_rounds": 50,
        "validation_layouts": 256,
        "serve": "last",
    },
    figures={"trajectories": "skm_sim.zones.drawing:ZonesPaths"},
    propositions=COLOURS_OF_TASKS,
    constraints=COLOURS_OF_TASKS,
    gamma=0.99,
    primitive_steps=100,
    step_seconds=0.02,
    hold=HOLD,
    tasks=task_table(
        Task(name, formula, repeat=False, max_steps=MAX_STEPS)
        for name, formula in {**FINITE, **INFINITE}.items()
    ),
)
