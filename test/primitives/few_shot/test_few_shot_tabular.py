"""Few-shot learning (Algorithm 3): where it starts, what it certifies, where it ends."""

import json

import numpy as np
import pytest

from skm_machine.errors import SkmError
from skm_primitives.evaluation.exact import evaluate_policy
from skm_primitives.few_shot.tabular import COLUMNS, ROUND_STEPS, FinetuneLearner, score
from skm_primitives.planning.planners import make_policy
from skm_primitives.planning.saved_policies import load_finetuned
from skm_primitives.skills.checkpoint import load
from skm_primitives.skills.loading import default_checkpoint, load_primitives
from skm_sim.registry import get_domain
from skm_sim.tabular import tabular_model
from tiny_worlds import CORRIDOR

RATIO, PRINTED = COLUMNS.index("return_ratio"), COLUMNS.index("printed_rule_ratio")


def learner_of(domain, task, **options):
    return FinetuneLearner.start(get_domain(domain), {"task": task, **options})


def learned(domain, task, steps, **options):
    learner = learner_of(domain, task, **options)
    while learner.steps < steps:
        learner.run_round()
    return learner


def evaluated(learner, policy):
    """The same figure from the evaluator of `skm eval`, which runs episode by episode."""
    runs = evaluate_policy(
        learner._world.model, learner.primitives, policy, max_steps=learner.task.max_steps
    )
    return runs.summary()


@pytest.fixture(scope="module")
def coffee_mail():
    return learned("office", "coffee_mail", 8 * ROUND_STEPS)


@pytest.mark.parametrize(
    ("domain", "task", "planner"),
    [
        ("office", "coffee_mail", "paper"),
        ("office", "long", "product"),
        ("office_absorbing", "coffee", "product"),
        ("office_absorbing", "coffee_strict", "paper"),
    ],
)
def test_it_starts_exactly_at_the_zero_shot_level(domain, task, planner):
    learner = learner_of(domain, task, planner=planner)
    zero_shot = evaluated(
        learner, make_policy(learner._policy.mission, learner.primitives, planner)
    )
    first = dict(zip(COLUMNS, learner.curve[0], strict=True))
    assert first["steps"] == 0
    assert first["return_ratio"] == pytest.approx(zero_shot.return_ratio, rel=1e-12)
    assert first["success"] == pytest.approx(zero_shot.success)
    assert first["mean_steps"] == pytest.approx(zero_shot.mean_steps or 0)


@pytest.mark.parametrize(
    ("domain", "task", "steps"),
    [
        ("office", "coffee_mail", 60_000),
        ("office_absorbing", "coffee", 120_000),
        ("office_absorbing", "coffee_strict", 60_000),
    ],
)
def test_it_reaches_the_optimum_where_the_paper_s_planner_does_not(domain, task, steps):
    learner = learned(domain, task, steps)
    scores = learner.scores()
    assert scores["zero_shot_return_ratio"] < 0.8
    assert scores["return_ratio"] >= 0.99
    assert scores["success"] == 1.0
    assert learner.steps_to(0.99) <= steps
    assert learner.markov


def test_the_returned_policy_earns_what_the_learner_says(coffee_mail):
    assert evaluated(coffee_mail, coffee_mail.policy).return_ratio == pytest.approx(
        coffee_mail.best.return_ratio, rel=1e-12
    )


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_q_is_a_lower_bound_on_what_its_greedy_policy_earns(alpha):
    learner = learned("office", "coffee_mail", 4 * ROUND_STEPS, alpha=alpha)
    world, gamma = learner._world, learner.primitives.gamma
    q = np.array(learner.q)[world.seen]
    action, everyone = q.argmax(axis=1), np.arange(len(q))
    following, reward = world.following[everyone, action], world.reward[everyone, action]
    earned = np.zeros(len(q))
    for _ in range(300):
        earned = reward + gamma * np.where(world.ended[everyone, action], 0, earned[following])
    known = q.max(axis=1) > 0
    assert known.sum() > 100
    assert (q.max(axis=1)[known] <= earned[known] + 1e-12).all()


def test_success_never_falls_below_zero_shot_on_the_way(coffee_mail):
    success = [point[COLUMNS.index("success")] for point in coffee_mail.curve]
    assert min(success) == success[0] == pytest.approx(0.95)


def test_the_printed_rule_cannot_reach_the_optimum_even_with_exact_values():
    """Why the policy that is returned is not argmax max{γQ, (1−γ)δ_Q}."""
    for domain, task, limit in [
        ("office", "coffee_mail", 0.97),
        ("office_absorbing", "coffee", 0.98),
    ]:
        learner = learner_of(domain, task)
        world, gamma = learner._world, learner.primitives.gamma
        q = np.zeros(world.following.shape)
        for _ in range(200):
            q = world.reward + gamma * np.where(world.ended, 0, q.max(axis=1)[world.following])
        rule = np.maximum(gamma * q, (1 - gamma) * learner._zero_shot.composed).argmax(axis=1)
        assert score(world, q.argmax(axis=1), gamma, 1000).return_ratio == pytest.approx(1)
        assert 0.95 < score(world, rule, gamma, 1000).return_ratio < limit


def test_what_is_kept_never_falls_even_where_the_task_is_not_markov():
    learner = learner_of("office", "long")
    assert not learner.markov
    start = learner.best.return_ratio
    for _ in range(5):
        before = learner.best.return_ratio
        learner.run_round()
        assert learner.best.return_ratio >= before >= start
        assert learner.best.return_ratio >= learner.curve[-1][RATIO]


def test_a_resumed_run_equals_one_that_was_never_stopped(tmp_path):
    spec = get_domain("office_absorbing")
    whole, first = (learner_of(spec.name, "coffee_strict", seed=3) for _ in range(2))
    for _ in range(4):
        whole.run_round()
    for _ in range(2):
        first.run_round()
    first.save(tmp_path / "part", "")
    resumed = FinetuneLearner.resume(spec, tmp_path / "part")
    assert resumed.steps == 2 * ROUND_STEPS
    for _ in range(2):
        resumed.run_round()
    cards = [learner.save(tmp_path / name, "") for learner, name in ((whole, "a"), (resumed, "b"))]
    assert cards[0] == cards[1]
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert whole.curve == resumed.curve


def test_seeds_matter_and_the_same_seed_gives_the_same_run():
    runs = [learned("office_absorbing", "coffee_strict", 1, seed=seed).q for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_a_saved_policy_can_be_loaded_and_run(tmp_path, coffee_mail):
    coffee_mail.save(tmp_path / "mail", "")
    spec = get_domain("office")
    primitives = load_primitives(spec)
    policy = load_finetuned(tmp_path / "mail", spec, primitives)
    assert evaluated(coffee_mail, policy) == evaluated(coffee_mail, coffee_mail.policy)
    arrays, card = load(tmp_path / "mail")
    assert arrays["best_q"].shape == (120, 7, 4)
    assert card.learner == "finetune"
    json.dumps(card.details)


def test_other_primitives_and_other_checkpoints_are_refused(tmp_path, coffee_mail):
    spec = get_domain("office")
    primitives = load_primitives(spec)
    coffee_mail.save(tmp_path / "mail", "")
    with pytest.raises(SkmError, match="written by the learner 'tabular'"):
        load_finetuned(default_checkpoint(get_domain("office")), spec, primitives)
    with pytest.raises(SkmError, match="written by the learner 'finetune'"):
        load_primitives(spec, tmp_path / "mail")
    primitives.digest = "another"
    with pytest.raises(SkmError, match="other primitives"):
        load_finetuned(tmp_path / "mail", spec, primitives)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"planner": "best"}, "unknown planner"),
        ({"alpha": 0}, "alpha is 0"),
        ({"epsilon": 2}, "epsilon is 2"),
        ({"seed": -1}, "seed is -1"),
        ({"episode_steps": 0}, "episode_steps is 0"),
        ({"task": "cofee"}, "did you mean"),
    ],
)
def test_bad_settings_are_refused_by_name(options, message):
    with pytest.raises(SkmError, match=message):
        learner_of("office", **{"task": "coffee", **options})


def test_a_world_without_arrays_is_refused():
    with pytest.raises(SkmError, match="TabularModel"):
        tabular_model(CORRIDOR)
