"""Interquartile mean and stratified bootstrap, as rliable has them."""

import numpy as np
import pytest

from skm_primitives.evaluation.statistics import interquartile_mean, stratified_interval


def test_outer_quarters_do_not_count():
    assert interquartile_mean(np.array([[-100.0, 1, 2, 3, 4, 5, 6, 900]])) == pytest.approx(3.5)
    assert interquartile_mean(np.array([0.0, 1, 2])) == pytest.approx(1)
    assert interquartile_mean(np.array([0.0, 0, 0, 1, 1])) == pytest.approx((0.75 + 0) / 2.5)


def test_runs_are_drawn_within_tasks():
    apart = np.array([[0.0, 1.0]] * 4)  # All runs of a task are alike: nothing is uncertain.
    assert stratified_interval(apart, lambda scores: float(scores.mean())) == (0.5, 0.5)
    low, high = stratified_interval(np.array([[0.0, 0], [1, 1]]), lambda some: float(some.mean()))
    assert (low, high) == (0, 1)
    assert stratified_interval(np.random.default_rng(0).random((3, 9))) == stratified_interval(
        np.random.default_rng(0).random((3, 9))
    )
