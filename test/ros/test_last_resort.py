"""The end that is sure to come, also where something in C hangs with Python's lock."""

import subprocess
import sys

HANGS_IN_C = """
import ctypes
from skm_ros.nodes.node_process import exit_after
exit_after(0.2, {code})
ctypes.PyDLL(None).sleep(60)  # holds Python's lock
"""


def test_a_process_that_hangs_in_c_ends_with_the_code_that_was_set():
    for code in (0, 7):
        command = [sys.executable, "-c", HANGS_IN_C.format(code=code)]
        assert subprocess.run(command, check=False, timeout=50).returncode == code


def test_it_can_be_called_off():
    code = "import time\nfrom skm_ros.nodes.node_process import exit_after\n"
    code += "exit_after(0.1, 7)()\ntime.sleep(0.3)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=50).returncode == 0
