"""Lidars are told apart into the objects that they show."""

import numpy as np
import pytest

from skm_sim.safety_gym.lidar import as_shown, fit_objects, shown_in_bins

RANGE = 3.0


def lidar_of(places):
    """Return the lidar of objects `(n, objects, 2)` around robots at the origin, and distances."""
    shown, distance = shown_in_bins(np.zeros((len(places), 3)), places)
    light = np.maximum(1 - distance / RANGE, 0)
    return (shown * light[..., None]).max(1).astype(np.float32), distance


def found_in(lidar, count):
    """Return where the objects are that are found, `(n, count, 2)`."""
    bins, light = fit_objects(lidar, np.full(len(lidar), count))
    angle, distance = bins.T * (2 * np.pi / 16), RANGE * (1 - light.T)
    return np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=-1)


def test_a_single_object_is_told_exactly():
    random = np.random.default_rng(0)
    places = random.uniform(-2, 2, (200, 1, 2))
    np.testing.assert_allclose(found_in(lidar_of(places)[0], 1), places, atol=1e-4)


@pytest.mark.parametrize(("count", "least"), [(2, 0.97), (4, 0.9)])
def test_the_nearest_of_several_is_nearly_always_told_and_most_of_the_others(count, least):
    random = np.random.default_rng(1)
    places = random.uniform(-1.5, 1.5, (500, count, 2))
    lidar, distance = lidar_of(places)
    found = found_in(lidar, count)
    gaps = np.linalg.norm(found[:, :, None] - places[:, None], axis=-1).min(1)
    near = np.take_along_axis(gaps, distance.argmin(1)[:, None], 1)[:, 0]
    assert (near < 0.05).mean() >= least
    assert (gaps < 0.05).mean() >= 0.6


def test_what_is_known_beforehand_is_not_found_again():
    random = np.random.default_rng(2)
    places = random.uniform(-2, 2, (200, 2, 2))
    both, one = lidar_of(places)[0], lidar_of(places[:, :1])[0]
    bins, light = fit_objects(one, np.ones(len(one), np.int64))
    peak = bins[0].astype(np.int64)
    known = as_shown(peak, bins[0] - peak, light[0])
    np.testing.assert_allclose(known, one, atol=1e-5)
    assert not fit_objects(one, np.ones(len(one), np.int64), known)[1].any()
    rest = fit_objects(both, np.ones(len(both), np.int64), known)[1][0]
    expected = np.maximum(1 - np.linalg.norm(places[:, 1], axis=1) / RANGE, 0)
    assert (np.abs(rest - expected) < 1e-4).mean() > 0.7


def test_no_more_objects_are_found_than_there_can_be():
    lidar = lidar_of(np.random.default_rng(3).uniform(-2, 2, (50, 4, 2)))[0]
    counts = np.arange(50) % 4 + 1
    light = fit_objects(lidar, counts)[1]
    assert ((light > 0).sum(0) <= counts).all()
