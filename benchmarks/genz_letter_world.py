"""GenZ-LTL's public LetterWorld models, run by their own code on the maps of `skm bench peers`.

    git clone https://github.com/BU-DEPEND-Lab/GenZ-LTL
    python benchmarks/genz_letter_world.py GenZ-LTL --seeds 1 11 22 --starts 200

Nothing of theirs is here. Their code wants Java, sympy, simple-parsing, pygame, torch-geometric, joblib,
pandas and wandb besides skm's own packages. A row for each task: share of successes, violations, mean
steps, these over the fewest on the same maps, and CPU milliseconds of a decision.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from skm_bench.peers.letter_world import LETTERS, fewest_steps
from skm_bench.peers.trials import EVALUATION_SEED, finite_tasks, peers_world
from skm_machine import compile_mission
from skm_sim.locations import load_attribute

ENVIRONMENT = "LetterSafetyEnv-v0"
EXPERIMENT = "GenZ-LTL"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path, help="a clone of theirs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 11, 22], help="of their models")
    parser.add_argument("--starts", type=int, default=200, help="maps of each task")
    args = parser.parse_args()
    if not (args.repository / "experiments").is_dir():
        parser.error(f"{args.repository} has no folder experiments; give a clone of GenZ-LTL.")
    torch.set_num_threads(1)
    sys.path.insert(0, str((args.repository / "src").resolve()))
    os.chdir(args.repository)
    # Their wrappers read attributes of what they wrap, which Gymnasium forwarded before 1.0.
    gymnasium.Wrapper.__getattr__ = _forwarded
    for seed in args.seeds:
        for task in finite_tasks(peers_world("letter_world")):
            print(
                f"seed {seed}, task {task.name}: {run(seed, task.formula, args.starts)}", flush=True
            )


def _forwarded(wrapper: gymnasium.Wrapper[Any, Any, Any, Any], name: str) -> Any:  # noqa: ANN401
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(wrapper.env, name)


def run(seed: int, formula: str, starts: int) -> dict[str, Any]:
    """Return how a model of theirs does on a mission."""
    sampler, configs = load_attribute("ltl:FixedSampler"), load_attribute("config:model_configs")
    no_path = load_attribute("sequence.search:NoPathsException")
    store = load_attribute("utils.model_store:ModelStore")(ENVIRONMENT, EXPERIMENT, seed, None)
    for chance in (random.seed, np.random.seed, torch.manual_seed):
        chance(seed)
    sample = sampler.partial(formula.replace("->", "=>"))
    env = load_attribute("envs:make_env_safety")(ENVIRONMENT, sample, None)
    env.reset(seed=seed)
    status = store.load_training_status(map_location="cpu")
    model = load_attribute("model.model:build_model_safety")(env, status, configs[ENVIRONMENT])
    names = env.get_propositions()
    search = load_attribute("sequence.search:ExhaustiveSearchSafety")(
        env, model, names, num_loops=2
    )
    agent = load_attribute("model.agent:Agent")(env, model, search=search, propositions=names)
    spec = peers_world("letter_world")
    ours, machine = spec.make(), compile_mission(formula, propositions=spec.propositions).machine
    env.unwrapped.use_fixed_map = True
    done = violated = steps = fewest = decisions = 0
    spent = 0.0
    for number in range(starts):
        ours.reset(seed=EVALUATION_SEED + 1000 * number)
        letters = ours.unwrapped.batch.maps[0]
        cells = np.argwhere(letters >= 0).tolist()
        env.unwrapped.map = {(row, column): LETTERS[letters[row, column]] for row, column in cells}
        seen, info = env.reset(), {}
        agent.reset()
        taken, over = 0, False
        while not over:
            began = time.process_time()
            try:
                action = agent.get_action(seen, info, deterministic=True)
            except no_path:
                break
            spent += time.process_time() - began
            seen, _, over, info = env.step(action.flatten()[0])
            taken += 1
        decisions += taken
        violated += "violation" in info
        if "success" in info:
            done += 1
            steps += taken
            fewest += fewest_steps(machine, letters) or 0
    return {
        "success": done / starts,
        "violations": violated / starts,
        "steps": round(steps / max(1, done), 2),
        "over_optimum": round(steps / max(1, fewest), 3),
        "decision_ms": round(1000 * spent / max(1, decisions), 2),
    }


if __name__ == "__main__":
    main()
