"""Learning on `rail_world` or `line_world` in a second or two, for tests of networks."""

from skm_primitives.learning.goal_conditioned import GoalConditionedLearner

OPTIONS = {
    "hidden": (32, 32),
    "agents": 16,
    "batch": 64,
    "update_every": 6,
    "gamma": 0.9,
    "learning_rate": 5e-3,
    "average_rate": 0.03,
    "action_gap": 0.5,
    "horizon": 4000,
    "replay": 4000,
    "validate_rounds": 1000,
    "validation_layouts": 8,
}


def learned_on(spec, rounds, **options):
    """Return a learner after some rounds; `options` come before those above."""
    learner = GoalConditionedLearner.start(spec, {**OPTIONS, **options})
    for _ in range(rounds):
        learner.run_round()
    return learner


def assert_resumes_to_the_same_bytes(spec, folder, **options):
    """Learn four rounds in one go, and two and two; compare all that is written."""
    learned_on(spec, 4, validate_rounds=2, **options).save(folder / "whole", "test")
    learned_on(spec, 2, validate_rounds=2, **options).save(folder / "half", "test")
    resumed = GoalConditionedLearner.resume(spec, folder / "half")
    for _ in range(2):
        resumed.run_round()
    resumed.save(folder / "half", "test")
    for name in ("{}.safetensors", "{}.resume.safetensors"):
        one, other = ((folder / name.format(n)).read_bytes() for n in ("whole", "half"))
        assert one == other
