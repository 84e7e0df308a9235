"""Train the generic learner in a world of the peers with default settings, and run their finite tasks.

python -m benchmarks.peers letter_world --seed 0 --episodes 200 --out /tmp/letter
python -m benchmarks.peers flat_world --skills /tmp/flat        # only run the tasks
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.peers.flat_world import FLAT_WORLD
from benchmarks.peers.letter_world import LETTER_WORLD, LetterEnv, fewest_steps
from skm_machine import compile_mission
from skm_primitives import MissionRun, load_primitives, make_policy
from skm_primitives.learning.training import make_learner, train
from skm_sim.spec import DomainSpec, Task

WORLDS = {"letter_world": LETTER_WORLD, "flat_world": FLAT_WORLD}
EVALUATION_SEED = 2029
"""Episodes begin from this; nothing was tuned on it."""


def main() -> None:
    """Train, run every task, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("--seed", type=int, default=0, help="of the training")
    parser.add_argument("--steps", type=int, help="of the training, if not the default")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("peers"))
    parser.add_argument("--skills", type=Path, help="a checkpoint: nothing is trained")
    parser.add_argument("--task", help="one of the tasks")
    given = parser.parse_args()
    spec = WORLDS[given.world]
    spec.register()
    path = given.skills
    if path is None:
        path = given.out.with_suffix(".safetensors")
        began = time.process_time()
        options = {"seed": given.seed, **({"horizon": given.steps} if given.steps else {})}
        learner = make_learner(spec, options, path, resume=False, overwrite=True)
        train(learner, given.steps, path, f"benchmarks.peers {given.world}")
        seconds = round(time.process_time() - began)
        print(json.dumps({"trained": str(path), "steps": learner.steps, "cpu_seconds": seconds}))
    for task in spec.tasks.values():
        if given.task in (None, task.name):
            print(json.dumps(run_task(spec, path, task, given.episodes)), flush=True)


def run_task(spec: DomainSpec, path: Path, task: Task, episodes: int) -> dict[str, object]:
    """Return how a task went from many starts, beside the fewest steps where these are known."""
    mission = compile_mission(task.formula, propositions=spec.propositions)
    skills, env = load_primitives(spec, path), spec.make()
    policy = make_policy(mission, skills)
    outcomes, taken, fewest = [], [], []
    for episode in range(episodes):
        observation, info = env.reset(seed=EVALUATION_SEED + 1000 * episode)
        run, ended = MissionRun(policy, skills, task.max_steps), False
        run.begin(observation, info["labels"])
        while not run.over and not ended:
            action = run.decide(skills.values(observation, run.history)).action
            observation, _, ended, _, info = env.step(action)
            run.enter(observation, info["labels"])
        outcome = run.tracker.status.value
        outcomes.append("world ended" if ended and outcome == "running" else outcome)
        if outcome == "accepted":
            taken.append(run.tracker.steps)
            if isinstance(env.unwrapped, LetterEnv):
                best = fewest_steps(mission.machine, env.unwrapped.batch.maps[0])
                assert best is not None, "what was done can be done"
                fewest.append(best)
    env.close()
    return {
        "task": task.name,
        "mission": task.formula,
        "success": outcomes.count("accepted") / episodes,
        "violations": (outcomes.count("failed") + outcomes.count("world ended")) / episodes,
        "steps": round(float(np.mean(taken)), 2) if taken else None,
        **({"over_optimum": round(sum(taken) / sum(fewest), 3)} if fewest else {}),
        "episodes": episodes,
    }


if __name__ == "__main__":
    main()
