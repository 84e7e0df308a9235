"""What benchmarks found, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skm_bench.core import Timing
from skm_cli.output import console, plain_table


def print_core(timings: Sequence[Timing]) -> None:
    """Print the CPU times of the core."""
    table = plain_table("CPU time, the best of a few tries", ("domain", "what", "ms"))
    for timing in timings:
        table.add_row(timing.domain, timing.what, f"{timing.milliseconds:.4f}")
    console().print(table)


def print_faults(rows: Sequence[dict[str, Any]], rate: float) -> None:
    """Print what followed the faults: median and worst, in seconds and metres."""
    columns = {
        "braking": "brakes",
        "at_rest": "at rest",
        "way": "way (m)",
        "machine_stop": "machine's stop",
        "result": "client's result",
    }
    headers = ("fault", "trials", *columns.values())
    table = plain_table(f"seconds after the fault at {rate:g} Hz: median, worst", headers)
    for row in rows:
        cells = [_pair(row[key]) for key in columns]
        table.add_row(f"{row['signal']} {row['node']}", str(row["trials"]), *cells)
    console().print(table)


def print_peers(found: dict[str, Any]) -> None:
    """Print how the tasks of one of the peers' worlds went."""
    spent = [row["cpu_seconds"] for row in found["training"] if row["cpu_seconds"]]
    cost = f"; learned in {max(spent):.0f} CPU s at most" if spent else ""
    title = (
        f"{found['world']}: {len(found['seeds'])} training seeds, {found['starts']} starts{cost}"
    )
    headers = ("task", "success", "worst seed", "violations", "steps", "/ optimum", "published")
    table = plain_table(title, headers)
    for row in found["tasks"]:
        known = row.get("published")
        table.add_row(
            f"{row['task']}: {row['mission']}",
            f"{row['success']:.4f}",
            f"{row['worst_seed']:.4f}",
            f"{row['violations']:.4f}",
            "–" if row["steps"] is None else f"{row['steps']:.1f}",
            f"{row['over_optimum']:.3f}" if "over_optimum" in row else "–",
            f"{known['success']:.3f} in {known['steps']:.1f}" if known else "–",
        )
    console().print(table)
    low, high = found["interval"]
    mean = found["interquartile_mean"]
    console().print(f"success, interquartile mean: {mean:.4f} [{low:.4f}, {high:.4f}]")
    if "over_optimum" in found:
        low, high = found["over_optimum_interval"]
        mean = found["over_optimum"]
        console().print(f"steps / optimum, interquartile mean: {mean:.3f} [{low:.3f}, {high:.3f}]")
    for row in found["recurring"]:
        console().print(
            f"seed {row['seed']}, {row['mission']}: {row['rounds']} rounds, {row['violated']} of"
            f" {row['episodes']} violated"
        )
    if some := found.get("formulas"):
        console().print(
            f"formulas: {some['runs']} runs, success {some['success']:.4f}, violations"
            f" {some['violations']:.4f}"
        )


def _pair(found: dict[str, Any]) -> str:
    if found["median"] is None:
        return "–"
    missing = f" ({found['missing']} missing)" if found["missing"] else ""
    return f"{found['median']:.3f}, {found['worst']:.3f}{missing}"


def print_patrol(found: dict[str, Any], rate: float) -> None:
    """Print every minute of a patrol."""
    headers = ("minute", "rounds", "steps", "late", "stops", "brakes after (ms)")
    further = ("median, 99 % (ms)", "MB", "CPU (%)")
    table = plain_table(f"a patrol at {rate:g} Hz", (*headers, *further))
    for row in found["minutes"]:
        table.add_row(
            *(str(row[key]) for key in ("minute", "rounds", "steps", "late", "stops")),
            "–" if row["worst_braking_ms"] is None else f"{row['worst_braking_ms']:.1f}",
            f"{row['latency_median_ms']:.1f}, {row['latency_p99_ms']:.1f}",
            " + ".join(f"{value:.0f}" for value in row["megabytes"].values()),
            " + ".join(f"{100 * value:.1f}" for value in row["cpu"].values()),
        )
    console().print(table)
    ends = ", ".join(f"{name} {code}" for name, code in found["exit_codes"].items())
    if found["worst_braking_ms"] is not None:
        worst, bound = found["worst_braking_ms"], found["braking_bound_ms"]
        calls = f"of {found['stop_calls']} calls of stop the worst braked after {worst:.1f} ms"
        console().print(f"{calls}; two periods and 50 ms are {bound:.0f} ms")
    console().print(f"the client was told: {found['outcome']}; exit codes: {ends}")


def print_real_time(found: dict[str, Any], rate: float) -> None:
    """Print how well a rate was held."""
    latency, bare = (
        ", ".join(f"{name} {value:.1f}" for name, value in found[key].items())
        for key in ("latency_ms", "bare_timer_late_ms")
    )
    out = console()
    out.print(f"rate     {found['rate']:.2f} Hz of {rate:g}")
    out.print(f"late     {found['late_steps']} of {found['steps']} steps ({found['late']:.2%})")
    out.print(f"latency  {latency} ms")
    out.print(f"machine  a thread that only sleeps woke late by {bare} ms")
    out.print(f"load     {found['load_before']:.1f} before, {found['load_after']:.1f} after")


def print_pages(found: dict[str, Any], rate: float) -> None:
    """Print what open pages cost."""
    out = console()
    out.print(f"{'at ' + format(rate, 'g') + ' Hz':<16}late actions       server   updates")
    for name, key in (("without a page", "without"), (f"with {found['pages']} pages", "with")):
        part = found[key]
        late = f"{part['late_steps']:g} of {part['steps']:g} ({part['late']:.2%})"
        updates = f"{part['updates_per_second']:.1f} / s" if part["updates_per_second"] else "–"
        out.print(f"{name:<16}{late:<19}{part['server_cpu']:>6.1%}   {updates}")
    out.print(f"load of the machine: {found['load']:.1f}")


def print_loops(document: dict[str, Any], variants: Sequence[str]) -> None:
    """Print the rates of the loops, beside the bare ones."""
    out = console()
    out.print(f"{'':<16} {'steps/s':>9} {'bare':>9} {'overhead':>9}")
    for variant in variants:
        row = document[variant]
        out.print(
            f"{variant.replace('_', ' '):<16} {row['steps_per_second']:>9.0f} "
            f"{row['bare_steps_per_second']:>9.0f} {row['overhead']:>9.2f}"
        )
    out.print(f"{'in process':<16} {document['in_process']['steps_per_second']:>9.0f}")


def print_trials(found: dict[str, Any]) -> None:
    """Print how missions went on a robot."""
    out = console()
    robot = {"car": "the Car", "irsim": "ir-sim's robot"}[found["robot"]]
    out.print(
        f"{found['domain']}: {found['runs']} runs on {robot}, {found['kilometres']:.2f} km in"
        f" {found['hours']:.2f} h of its time, seed {found['seed']}"
    )
    out.print(f"  success {found['success']:.3f}, by the true pose {found['true_success']:.3f}")
    out.print(f"  forbidden places touched (true pose, 50 Hz): {found['forbidden_touched']}")
    out.print(f"  walls touched: {found['walls_touched']}")
    compared = ""
    if "path_over_planned" in found:
        compared = (
            f"path / planned {found['path_over_planned']:.3f}, worst"
            f" {found['worst_path_over_planned']:.3f}; "
        )
    out.print(f"  {compared}mean speed {found['mean_speed']:.2f} m/s")
