"""A mission for the office with each of the 22 mission patterns, which `skm patterns` shows."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final = {
    "visit": "visit coffee, mail; never decoration",
    "sequenced visit": "visit coffee, office in sequence; never decoration",
    "ordered visit": "visit coffee, mail in order then office; never decoration",
    "strict ordered visit": "visit A, B, C in strict order; never decoration",
    "fair visit": "visit A, C fairly; never decoration",
    "patrolling": "patrol A, C; never decoration",
    "sequenced patrolling": "patrol A, B, C in sequence; never decoration",
    "ordered patrolling": "patrol A, B in order; never decoration",
    "strict ordered patrolling": "patrol A, B in strict order; never decoration",
    "fair patrolling": "patrol A, C fairly; never decoration",
    "past avoidance": "avoid office until coffee; visit office",
    "global avoidance": "visit mail; never decoration",
    "future avoidance": "visit mail, coffee, office in sequence; never mail after coffee",
    "upper restricted avoidance": "visit A, B in sequence; visit A at most 2 times",
    "lower restricted avoidance": "visit A at least 2 times; never decoration",
    "exact restricted avoidance": "visit coffee exactly 2 times; visit office; never decoration",
    "instantaneous reaction": "visit mail; whenever decoration be at office at once",
    "delayed reaction": "patrol mail; whenever mail go to office; never decoration",
    "prompt reaction": "visit coffee then office; whenever coffee do not coffee in the next step",
    "bound reaction": "visit mail; exactly when decoration be at coffee at once",
    "bound delay": "patrol mail; exactly when decoration be at coffee in the next step",
    "wait": "wait at not decoration until coffee",
}
"""Missions in plain words, by the name of the pattern."""
