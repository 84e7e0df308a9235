"""'Your environment in ten minutes' works as it is written."""

from your_environment_page import commands, follow, write_module


def test_the_page_is_followed_from_the_first_command_to_the_last_without_ros(tmp_path):
    assert len(list(commands("train", "run", "eval", "demo"))) == 7
    write_module(tmp_path)
    follow(tmp_path, "train", "run", "eval")
