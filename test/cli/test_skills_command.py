"""Skills travel: pushed to a folder with card, results and licence, listed, pulled, and used."""

import json
import sys

import pytest

from skm_cli.main import main
from skm_primitives import default_checkpoint
from skm_primitives.skills import checkpoint
from skm_sim import get_domain

OFFICE = default_checkpoint(get_domain("office"))


def skm(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def store(tmp_path):
    results = tmp_path / "eval.json"
    results.write_text(json.dumps({"domain": "office", "success": 0.97, "runs": 40, "more": [1]}))
    place = tmp_path / "store"
    options = ("--to", place, "--licence", "Apache-2.0", "--results", results)
    assert skm("skills", "push", "office-v1", "--checkpoint", OFFICE, *options) == 0
    return place


def test_there_and_back_they_are_the_same_and_run(store, tmp_path, capsys):
    out = tmp_path / "mine"
    assert skm("skills", "pull", "office-v1", "--from", store, "--out", out) == 0
    assert checkpoint.checkpoint_path(out).read_bytes() == OFFICE.read_bytes()
    assert checkpoint.load(out)[1] == checkpoint.load(OFFICE)[1]
    assert skm("run", "office", "F coffee", "--checkpoint", out) == 0
    assert "accepted" in capsys.readouterr().out


def test_a_store_says_what_it_has_to_people_and_to_programs(store, capsys):
    capsys.readouterr()
    card = checkpoint.load(OFFICE)[1]
    assert skm("skills", "list", store) == 0
    assert f"office-v1: office, tabular, seed {card.seed}" in capsys.readouterr().out
    assert skm("skills", "list", store, "--json") == 0
    (release,) = json.loads(capsys.readouterr().out)
    assert (release["licence"], release["digest"]) == ("Apache-2.0", card.digest)
    assert release["results"][0]["success"] == 0.97
    page = (store / "office-v1" / "README.md").read_text()
    assert page.startswith("---\nlicense: apache-2.0\n")
    for text in ("| seed |", "| success |", "0.97", card.digest, "skm skills pull office-v1"):
        assert text in page or text.strip("| ") in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("push", "office-v1", "--licence", "MIT"), "has a release 'office-v1'"),
        (("push", "../out", "--licence", "MIT"), "a release is named by letters"),
        (("push", "other", "--licence", "do what you want"), "an SPDX name"),
        (("pull", "office-v2"), "has no release 'office-v2'; did you mean 'office-v1'?"),
        (("pull", "../office-v1"), "a release is named by letters"),
    ],
)
def test_what_is_refused(store, tmp_path, arguments, message, capsys):
    place = ("--from", store, "--out", tmp_path / "o")
    if arguments[0] == "push":
        place = ("--to", store, "--checkpoint", OFFICE)
    assert skm("skills", *arguments, *place) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in store.iterdir()] == ["office-v1"]


def test_results_of_another_domain_and_what_is_here_already(store, tmp_path, capsys):
    other = tmp_path / "zones.json"
    other.write_text('{"domain": "zones"}')
    push = ("skills", "push", "x", "--checkpoint", OFFICE, "--to", store, "--licence", "MIT")
    assert skm(*push, "--results", other) == 2
    assert "the results are of the domain 'zones'" in capsys.readouterr().err
    pull = ("skills", "pull", "office-v1", "--from", store, "--out", tmp_path / "mine")
    assert [skm(*pull), skm(*pull), skm(*pull, "--overwrite")] == [0, 2, 0]
    assert "mine.safetensors exists" in capsys.readouterr().err


def test_skills_that_were_tampered_with_are_not_pulled(store, tmp_path, capsys):
    arrays = store / "office-v1" / "skills.safetensors"
    data = bytearray(arrays.read_bytes())
    data[-1] ^= 1
    arrays.write_bytes(bytes(data))
    pull = ("skills", "pull", "office-v1", "--from", store, "--out", tmp_path / "mine")
    assert skm(*pull) == 2
    assert "is not the file that" in capsys.readouterr().err
    assert skm("skills", "push", "office-v1", "--checkpoint", OFFICE, "--to", store,
               "--licence", "MIT", "--overwrite") == 0  # fmt: skip
    release = store / "office-v1" / "release.json"
    document = json.loads(release.read_text())
    release.write_text(json.dumps({**document, "digest": "0" * 64}))
    assert skm(*pull) == 2
    assert "are not those that release.json describes" in capsys.readouterr().err
    release.write_text(json.dumps({**document, "results": "many"}))
    assert skm("skills", "list", store) == 2
    assert "its results is missing or wrong" in capsys.readouterr().err
    assert not (tmp_path / "mine.safetensors").exists()


def test_hugging_face_without_its_package_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert skm("skills", "list", "hf://somebody/skills") == 2
    assert "pip install 'skm[hub]'" in capsys.readouterr().err
