"""Reports on maps."""

from __future__ import annotations

from typing import Any

from skm_cli.language import said
from skm_primitives.planning.map_domains import Journeys


def print_map(document: dict[str, Any]) -> None:
    """Print what a domain on a map has, and what nobody can reach."""
    size = f"{document['width']:.1f} × {document['height']:.1f} m"
    cells = f"{document['cells']} cells of {document['cell']:g} m"
    print(f"{document['folder']}: {cells} on a map of {size}")
    sets = ["{" + ", ".join(names) + "}" for names in document["label_sets"]]
    print(f"  label sets: {' '.join(sets)}")
    if document["actions"]:
        changed = ", ".join(document["facts"])
        print(f"  actions: {', '.join(document['actions'])}, which change {changed}")
    for name, reason in document["reasons"].items():
        print(f"  unreachable: {name} ({reason})")
    print(f"  made in {document['seconds']:.1f} s")


def print_journeys(found: Journeys, names: tuple[str, ...]) -> None:
    """Print how far a mission is on its map."""
    least, mean, most = (f"{metres:.1f} m" for metres in found.metres)
    seconds = found.metres[1] / found.speed
    everywhere = (
        "every cell"
        if found.possible == 1
        else f"{min(99.9, 100 * found.possible):.1f} % of all cells"
    )
    print()
    print(said(f"on this map: {mean} on average, {seconds:.0f} s at {found.speed:g} m/s"))
    print(said(f"  from {least} to {most}; it can be done from {everywhere}"))
    if found.in_time is not None:
        share = f"{100 * found.in_time:.0f} % of the starts that were tried"
        print(said(f"  its deadlines can be met at that speed from {share}"))
    for state, metres in found.legs:
        print(f"  {names[state]:<6} {metres:.1f} m, {metres / found.speed:.0f} s")
