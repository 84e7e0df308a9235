"""Reward-machine files in the plain format of Icarte et al.: read by a parser, never by `eval`.

    0                          # the initial state
    [2]                        # the terminal states
    (0, 1, 'coffee', 0)        # from, to, on which labels, for which reward
    (1, 2, 'desk', 1)

Label sets that no line of a state covers end the mission without success, as in their code.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NoReturn

from skm_machine.errors import MissionError, NondeterministicError
from skm_machine.logic.formula import Formula
from skm_machine.logic.parser import parse
from skm_machine.reward_machine import Outcome, RewardMachine, from_edges

_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_EDGE: Final = re.compile(
    r"\(\s*(?P<source>\d+)\s*,\s*(?P<target>\d+)\s*,\s*(?P<quote>['\"])(?P<label>.*)(?P=quote)\s*,\s*"
    rf"(?:ConstantRewardFunction\(\s*(?P<constant>{_NUMBER})\s*\)|(?P<reward>{_NUMBER}))\s*\)"
)
_TERMINAL: Final = re.compile(r"\[\s*(?:\d+\s*(?:,\s*\d+\s*)*)?\]")


def read_reward_machine(text: str, propositions: Collection[str] | None = None) -> RewardMachine:
    """Return the reward machine of a file's `text`."""
    lines = _lines(text)
    if len(lines) < 3:
        _fail("a reward machine needs an initial state, its terminal states and edges", text, 0)
    (initial_at, initial_text), (terminal_at, terminal_text), *edge_lines = lines
    if not initial_text.isdecimal():
        _fail("the first line must be the number of the initial state", text, initial_at)
    terminal_match = _TERMINAL.fullmatch(terminal_text)
    if terminal_match is None:
        _fail("the second line must list the terminal states, such as [2]", text, terminal_at)
    terminal = [int(number) for number in re.findall(r"\d+", terminal_text)]
    edges = [_edge(line, text, position, propositions) for position, line in edge_lines]
    initial = int(initial_text)
    numbers = sorted(
        {initial, *terminal, *(n for source, target, *_ in edges for n in (source, target))}
    )
    index = {number: position for position, number in enumerate(numbers)}
    rows: list[list[tuple[Formula, Outcome]]] = [[] for _ in numbers]
    for source, target, label, reward in edges:
        rows[index[source]].append((label, Outcome(index[target], reward)))
    names = dict.fromkeys(name for _, _, label, _ in edges for name in label.propositions())
    ends = [index[number] for number in terminal]
    rewarded_ends = [t for _, t, _, reward in edges if reward > 0 and t in terminal]
    try:
        return from_edges(
            tuple(names),
            rows,
            initial=index[initial],
            terminal=ends,
            endless=not rewarded_ends,
            co_safe=bool(rewarded_ends),
        )
    except NondeterministicError as error:
        raise MissionError(f"reward machine: {error}") from error


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that say something, without comments, each with its position in `text`."""
    lines, position = [], 0
    for line in text.splitlines(keepends=True):
        content = line.split("#", 1)[0].strip()
        if content:
            lines.append((position + len(line) - len(line.lstrip()), content))
        position += len(line)
    return lines


def _edge(
    line: str, text: str, position: int, propositions: Collection[str] | None
) -> tuple[int, int, Formula, float]:
    match = _EDGE.fullmatch(line)
    if match is None:
        _fail("expected an edge such as (0, 1, 'coffee & !mail', 0)", text, position)
    try:
        label = parse(match["label"], propositions)
    except MissionError as error:
        raise MissionError(
            error.message, text, position + match.start("label") + (error.position or 0)
        ) from error
    if not label.is_boolean():
        _fail(
            "the label of an edge has no temporal operators", text, position + match.start("label")
        )
    reward = float(match["constant"] or match["reward"])
    return int(match["source"]), int(match["target"]), label, reward


def _fail(message: str, text: str, position: int) -> NoReturn:
    raise MissionError(f"reward machine: {message}", text, position)
