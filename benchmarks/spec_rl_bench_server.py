"""An environment of SpecRLBench behind a pipe, for `spec_rl_bench.py`: run by a Python that has it.

    python3.10 spec_rl_bench_server.py CLONE PointLTL1-v0.overlap

A line of JSON in, one out: {"seed": 3} begins an episode, {"action": [0.1, -1]} takes a step. The
answer has what is seen, by sensor, the propositions, and whether the world or the time is over.
SpecRLBench brings a safety-gymnasium of its own that needs Python 3.10, gymnasium 0.28 and MuJoCo
2.3.3, not those of skm; so nothing of skm is imported here.
"""

from __future__ import annotations

import json
import os
import sys
import types
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Answer until the pipe is closed."""
    clone, name = Path(sys.argv[1]).resolve(), sys.argv[2]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Their environments print.
    sys.path[:0] = [str(clone), str(clone / "specbench/envs/zones/safety-gymnasium")]
    sys.modules["panda_gym"] = types.ModuleType("panda_gym")  # Their arms; not asked for.
    wrapper = import_module("specbench.envs.zones.safety_gym_wrapper").SafetyGymWrapper
    env = wrapper(import_module("safety_gymnasium").make(name, disable_env_checker=True))
    for line in sys.stdin:
        asked = json.loads(line)
        if "seed" in asked:
            seen, info = env.reset(seed=asked["seed"])
            ended = cut = False
        else:
            seen, _, ended, cut, info = env.step(asked["action"])
        numbers = {key: value.ravel().tolist() for key, value in seen.items()}
        shown = sorted(info["propositions"])
        answer = {"seen": numbers, "shown": shown, "ended": bool(ended), "cut": bool(cut)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
