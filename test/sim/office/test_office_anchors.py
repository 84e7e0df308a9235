"""The office's dynamics agree with the optimal steps that were measured on the authors' code."""

import numpy as np
import pytest

from skm_sim.office.env import office_model


def column(model, proposition):
    return model.labels[:, model.propositions.index(proposition)]


def fewest_steps(model, stages):
    """Return, for every start cell, the fewest steps to enter the stages in order.

    A stage is a proposition, or a pair of arrays over states: where it is reached, where it fails.
    Decorations are never entered. A stage may be passed over and reached later (`F`).
    """
    after = np.zeros(model.num_states)
    for stage in reversed(stages):
        never = np.zeros(model.num_states, bool)
        reached, failed = (column(model, stage), never) if isinstance(stage, str) else stage
        failed = failed | column(model, "decoration")
        here = np.full(model.num_states, np.inf)
        while True:
            entered = np.where(reached, np.minimum(after, here), here)
            entered[failed] = np.inf
            better = 1 + entered[model.transitions].min(axis=1)
            if np.array_equal(better, here):
                break
            here = better
        after = here
    return after[model.start_states]


def long_stages(model):
    """Return the stages of the task `long`."""
    again = []
    for place, present in (("mail", "mail_present"), ("office", "people_present")):
        there, empty = column(model, place), ~column(model, present)
        again.append((there & empty, there & ~empty))
    return ["mail", "office", again[0], "coffee", again[1], *"ABCDA"]


def mean_steps(model, steps):
    """Return the mean over the starts that are not on a decoration."""
    return steps[~model.cell_labels[:, model.propositions.index("decoration")]].mean()


def test_the_coffee_tasks_take_as_many_steps_as_with_the_authors():
    model = office_model()
    coffee = fewest_steps(model, ["coffee", "office"])
    assert mean_steps(model, coffee) == pytest.approx(16.28, abs=0.005)
    both = np.minimum(
        fewest_steps(model, ["coffee", "mail", "office"]),
        fewest_steps(model, ["mail", "coffee", "office"]),
    )
    assert mean_steps(model, both) == pytest.approx(27.93, abs=0.005)


def test_the_patrol_takes_as_many_steps_as_with_the_authors():
    """Their success rate, 0.958, is 115 of 120 starts, so one start on a decoration is in the mean.

    Which one is not recorded; the figure fits one of the two from which 46 steps are needed.
    """
    model = office_model()
    mean = mean_steps(model, fewest_steps(model, list("ABCD")))
    assert (114 * mean + 46) / 115 == pytest.approx(54.89, abs=0.005)


def test_the_long_task_takes_as_many_steps_as_with_the_authors_once_mail_and_people_are_gone():
    """The recorded figure, 112.70, fits an office without mail and people (or with one visit each).

    That their counters leak between episodes would explain it; it is not recorded. With 2 mail
    and 4 people visits in every episode, about eight steps more are needed: each extra visit of a
    place takes two.
    """
    empty, full = office_model(mail_visits=0, people_visits=0), office_model()
    assert mean_steps(empty, fewest_steps(empty, long_stages(empty))) == pytest.approx(
        112.70, abs=0.005
    )
    assert mean_steps(full, fewest_steps(full, long_stages(full))) == pytest.approx(
        120.61, abs=0.005
    )
