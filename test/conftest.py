"""What holds for all tests: one thread each for linear algebra, set before NumPy is loaded."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
