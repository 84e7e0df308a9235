"""How fast and how exact translations of random formulas are: `python measure_omega.py [N] [LASSOS]`.

Not a test: it takes minutes with the default of 2000 formulas (up to 25 operators and propositions,
up to 4 propositions) on 50 lassos each.
"""

import random
import statistics
import sys
import time

from lasso_semantics import holds_forever, random_formula, random_lasso
from skm_machine import UnsupportedMissionError, translate_omega


def main(count: int = 2000, lassos: int = 50) -> None:
    rng = random.Random(14)
    seconds, states, wrong, refused, deterministic = [], [], 0, 0, 0
    for _ in range(count):
        names = "abcd"[: rng.randint(1, 4)]
        formula = random_formula(rng, rng.randint(1, 25), names)
        start = time.thread_time()
        try:
            automaton = translate_omega(formula)
        except UnsupportedMissionError:
            refused += 1
            continue
        seconds.append(time.thread_time() - start)
        states.append(automaton.num_states)
        deterministic += automaton.deterministic
        for _ in range(lassos):
            prefix, loop = random_lasso(rng, names)
            wrong += automaton.accepts(prefix, loop) != holds_forever(formula, prefix, loop)
    percentiles = statistics.quantiles(seconds, n=100)
    print(f"{count} formulas, {lassos} lassos each: {wrong} wrong, {refused} refused")
    print(f"deterministic: {deterministic}")
    print(f"states: median {statistics.median(states)}, {max(states)} at most")
    print(
        f"milliseconds of computing: median {1000 * percentiles[49]:.2f}, "
        f"99 % below {1000 * percentiles[98]:.0f}, {1000 * max(seconds):.0f} at most"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
