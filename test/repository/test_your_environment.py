"""'Your environment in ten minutes' works as it is written."""

import re
from pathlib import Path

from your_environment_page import commands, follow, write_module


def test_the_page_is_followed_from_the_first_command_to_the_last_without_ros(tmp_path):
    assert len(list(commands("train", "run", "eval", "demo"))) == 7
    write_module(tmp_path)
    follow(tmp_path, "train", "run", "eval")


def test_a_mission_becomes_an_environment_and_a_batch_as_the_page_says():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "environments.md"
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    names = {}
    exec(code, names)
    assert names["env"].reset(seed=0)[0] in names["env"].observation_space
    assert names["batch"].reset(seed=0)[0].shape == (16,)
