"""skm from Python, without ROS: check a mission, plan it, run it, read what came of it.

python examples/python_api.py
"""

from skm_machine import compile_mission
from skm_primitives import Episode, load_primitives, make_policy, run_episode
from skm_sim import get_domain


def run(domain: str, text: str, seed: int) -> Episode:
    """Run a mission in a domain, zero-shot, with the skills that come with it."""
    spec = get_domain(domain)
    mission = compile_mission(text, propositions=spec.propositions)  # a MissionError says where
    print(f"{mission.text}: {mission.machine.num_states} states; {mission.reading}")

    skills = load_primitives(spec)
    policy = make_policy(mission, skills)  # an SkmError if it is provably not achievable
    return run_episode(spec.make(), skills, policy, max_steps=1000, seed=seed)


def main() -> None:
    """Run a mission in the office, and one on the robot of the Safety domain."""
    for domain, text in (
        ("office", "F(coffee & X F office) & G !decoration"),
        ("safety", "F(button & X F cylinder) & G !region"),
    ):
        episode = run(domain, text, seed=1)
        print(f"{episode.outcome} after {episode.steps} steps, return {episode.total_reward:g}")
        for move in episode.transitions:
            labels = ", ".join(sorted(move.labels))
            print(f"  step {move.step}: state {move.source} -> {move.target} on {{{labels}}}")


if __name__ == "__main__":
    main()
