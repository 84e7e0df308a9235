"""examples/python_api.py as it stands."""

import python_api


def test_it_prints_what_came_of_its_missions(capsys):
    python_api.main()
    said = capsys.readouterr().out
    assert said.count("accepted after") == 2
    assert "on {coffee}" in said
