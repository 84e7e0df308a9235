"""The report: one page that opens in a browser with nothing else, and each table as Markdown and CSV."""

from __future__ import annotations

import base64
import csv
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skm_primitives.reproduction.claims import Claim

Row = Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table of text; the first row is its head."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Section:
    """A figure of the paper: pictures, tables, and what it claims beside what was found."""

    name: str
    title: str
    about: str
    claims: Sequence[Claim] = ()
    pictures: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by picture and kind (png, svg)."""
    tables: Sequence[Table] = ()


STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#222831;background:#fdfcf9;max-width:72rem;
margin:2rem auto;padding:0 1.2rem}h1,h2{line-height:1.2}h2{margin-top:3rem;border-top:1px solid #e6e0d4;
padding-top:1.2rem}img{max-width:100%;background:#fff}table{border-collapse:collapse;margin:1rem 0;
font-size:.9rem}td,th{padding:.25rem .7rem;border-bottom:1px solid #e6e0d4;text-align:left;
vertical-align:top}.yes{color:#2a7d4f;font-weight:600}.no{color:#b3261e;font-weight:600}
code{background:#f1ede3;padding:0 .25em;border-radius:3px}nav a{margin-right:1rem;display:inline-block}
.scroll{overflow-x:auto}
"""


def write_report(folder: Path, title: str, words: str, sections: Sequence[Section]) -> Path:
    """Write the page, the pictures and the tables; return where the page is."""
    for name in ("figures", "tables"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    parts = []
    for section in sections:
        for name, files in section.pictures.items():
            for kind, content in files.items():
                (folder / "figures" / f"{name}.{kind}").write_bytes(content)
        tables = [*section.tables]
        if section.claims:
            tables.append(claims_table(section))
        for table in tables:
            _write_table(folder / "tables", table)
        parts.append(_section(section))
    links = "".join(
        f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1><p>{_words(words)}</p>"
        f"<nav>{links}</nav>{''.join(parts)}</html>\n"
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def claims_table(section: Section) -> Table:
    """Return the claims of a section as a table."""
    rows = [
        (claim.text, *(("yes", claim.found, "") if claim.shown else ("no", claim.found, claim.why)))
        for claim in section.claims
    ]
    return Table(f"{section.name}-claims", [("claim", "shown here", "found", "why"), *rows])


def _section(section: Section) -> str:
    pictures = "".join(
        f'<img alt="{html.escape(name)}" src="{_data(files)}">'
        for name, files in section.pictures.items()
    )
    claims = _html_table(claims_table(section)) if section.claims else ""
    tables = "".join(_html_table(table) for table in section.tables)
    return (
        f'<h2 id="{section.name}">{html.escape(section.title)}</h2>'
        f"<p>{_words(section.about)}</p>{pictures}{claims}{tables}"
    )


def _words(text: str) -> str:
    """Return text as HTML: `code` as such, and two numbers with a stroke between them in one line."""
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"(?<=\d) / (?=\d)", "&nbsp;/&nbsp;", escaped)


def _data(files: dict[str, bytes]) -> str:
    kind = "png" if "png" in files else "svg"
    mime = "image/png" if kind == "png" else "image/svg+xml"
    return f"data:{mime};base64,{base64.b64encode(files[kind]).decode()}"


def _html_table(table: Table) -> str:
    def cell(text: str) -> str:
        mark = f' class="{text}"' if text in ("yes", "no") else ""
        return f"<td{mark}>{_words(text)}</td>"

    head = "".join(f"<th>{_words(text)}</th>" for text in table.rows[0])
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in table.rows[1:])
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _write_table(folder: Path, table: Table) -> None:
    with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(table.rows)
    escaped = [[text.replace("|", r"\|") for text in row] for row in table.rows]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    lines.insert(1, "|" + "---|" * len(table.rows[0]))
    (folder / f"{table.name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
