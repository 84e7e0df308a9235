"""'Your environment in ten minutes': the nodes run a mission in an environment that is not ours."""

from your_environment_page import follow, write_module


def test_the_page_s_mission_goes_through_the_nodes(tmp_path):
    write_module(tmp_path)
    follow(tmp_path, "train", "demo")
