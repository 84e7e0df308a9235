"""What holds for all tests: one thread each for linear algebra, and no example is too slow to count."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded

from hypothesis import HealthCheck, settings

# How long an example takes is the machine's business, and other processes run on it.
settings.register_profile("skm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("skm")
