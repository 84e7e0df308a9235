"""The page's own words: whatever it says in English it can say in German."""

import re

from skm_primitives.recording.cdr import OUTCOMES, PHASES
from skm_web.server import page_files

SAID = re.compile(r'\bt\((?:[\w.!]+ \? )?("(?:[^"\\]|\\.)*")(?: : ("(?:[^"\\]|\\.)*"))?')
ENTRY = re.compile(r'("(?:[^"\\]|\\.)*"): ("(?:[^"\\]|\\.)*")')
NAMED = re.compile(r'\b(title|aria-label|alt|placeholder)="([^"]*)"')
TAG = re.compile(r"<[^/!][^>]*\bdata-t\b[^>]*>([^<]*)")
SIGNS = re.compile(r"[^a-z]*")


def text(name):
    return page_files()[name][1].decode()


def pages_words():
    """Return the English texts of the page, each with the file that says it."""
    for name in page_files():
        if name.endswith(".js"):
            for found in SAID.finditer(text(name)):
                yield from ((one.strip('"'), name) for one in found.groups() if one)
        elif name.endswith(".html"):
            for tag in TAG.finditer(text(name)):
                yield tag[1].strip(), name
                yield from ((value, name) for _, value in NAMED.findall(tag[0]))


def test_no_text_of_the_page_lacks_its_german():
    german = {
        key.strip('"'): value.strip('"')
        for name in ("language.js", "editor.js")
        for key, value in ENTRY.findall(text(name))
    }
    said = {*pages_words(), *((word, "outcome") for word in OUTCOMES[1:])}
    said |= {(word, "phase") for word in PHASES}
    missing = {(word, where) for word, where in said if word not in german}
    assert {entry for entry in missing if not SIGNS.fullmatch(entry[0])} == set()
    gaps = re.compile(r"\{\d\}")
    for english, translated in german.items():
        assert sorted(gaps.findall(english)) == sorted(gaps.findall(translated)), english
    assert len({word for word, _ in said}) > 200
