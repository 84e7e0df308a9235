"""`skm run … --robots`: a mission of several robots, in process."""

from __future__ import annotations

import argparse
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from skm_cli.output import counted, print_json, start_options
from skm_machine.errors import SkmError

if TYPE_CHECKING:
    from skm_primitives.execution.team_run import TeamEpisode
    from skm_sim.maps.building import Building
    from skm_sim.spec import DomainSpec

_ROBOT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=\s*([^;=]+?)\s*)?")
MAX_STEPS = 1000
_GONE = re.compile(r"\s*([A-Za-z_]\w*)\s*@\s*(\d+)\s*")


def robots_of(text: str) -> dict[str, str]:
    """Return the robots of `r1=X,Y; r2=X,Y`, or of a number, and where each begins; empty: anywhere."""
    if text.strip().isdecimal():
        return {f"r{number + 1}": "" for number in range(int(text))}
    found: dict[str, str] = {}
    for piece in filter(str.strip, text.split(";")):
        match = _ROBOT.fullmatch(piece)
        if match is None or match[1] in found:
            problem = "is named twice" if match else "is not a robot and its start"
            raise SkmError(f"--robots: '{piece.strip()}' {problem}; write \"r1=X,Y; r2=X,Y\"")
        found[match[1]] = match[2] or ""
    if not found:
        raise SkmError('--robots names no robot; write "r1=X,Y; r2=X,Y"')
    return found


def gone_of(text: str, robots: dict[str, str]) -> dict[str, int]:
    """Return the robots of `r2@30` that are lost, and after which step."""
    found: dict[str, int] = {}
    for piece in filter(str.strip, text.split(",")):
        match = _GONE.fullmatch(piece)
        if match is None or match[1] not in robots:
            raise SkmError(f"--gone: '{piece.strip()}' is not a robot and a step; write \"r2@30\"")
        found[match[1]] = int(match[2])
    return found


def run_a_team(args: argparse.Namespace, text: str) -> int:
    """Plan a mission for a team, run it, and say what happened."""
    from skm_primitives import load_primitives  # noqa: PLC0415
    from skm_primitives.execution.team_run import (  # noqa: PLC0415
        TeamRun,
        run_team,
        team_mission,
        team_of,
    )
    from skm_primitives.planning.map_domains import building_of  # noqa: PLC0415
    from skm_primitives.planning.place_graph import cells_of  # noqa: PLC0415
    from skm_sim import get_domain  # noqa: PLC0415

    spec = get_domain(args.domain)
    robots = robots_of(args.robots)
    skills = load_primitives(spec, args.checkpoint)
    cells = cells_of(skills)
    if cells is None and spec.team:
        return _run_with_learned_skills(args, text, spec, skills, robots)
    if cells is None:
        raise SkmError(
            "teams are planned where the world is known, as on a map, or where a domain says how several"
            f" robots are in one world; not in {spec.name}"
        )
    for name, start in robots.items():
        if not start:
            raise SkmError(f'--robots: say where {name} begins: "{name}=X,Y"')
    building = building_of(spec)
    env = spec.make()
    starts = [
        int(env.reset(seed=args.seed, options=start_options(start))[0]) for start in robots.values()
    ]
    env.close()
    team = team_of(tuple(robots), cells, building)
    mission = team_mission(text, team, args.format)
    run = TeamRun(mission.machine, team, starts)  # type: ignore[arg-type]
    episode = run_team(run, gone_of(args.gone, robots))
    document = _document(args, tuple(robots), episode, building)
    if args.json:
        print_json(document)
    else:
        _print(document)
    return 0 if episode.outcome == "accepted" else 1


def _run_with_learned_skills(
    args: argparse.Namespace,
    text: str,
    spec: DomainSpec,
    skills: Any,  # noqa: ANN401 - TeamSkills
    robots: dict[str, str],
) -> int:
    """Run a mission for a team of learned skills, in a world that is drawn by the seed."""
    from skm_primitives.execution.learned_team_run import (  # noqa: PLC0415
        LearnedTeamRun,
        learned_team_mission,
    )

    world = spec.part("team")(tuple(robots))
    mission = learned_team_mission(text, world.names, spec.propositions, args.format)
    world.reset(args.seed, {name: _place(name, start) for name, start in robots.items() if start})
    limit = args.max_steps or max([MAX_STEPS, *(task.max_steps for task in spec.tasks.values())])
    run = LearnedTeamRun(mission.machine, world, skills)  # type: ignore[arg-type]
    episode = run.run(limit, gone_of(args.gone, robots))
    document = {
        "domain": args.domain,
        "mission": args.mission,
        "outcome": episode.outcome,
        "reason": episode.reason,
        "steps": episode.steps,
        "collisions": episode.collisions,
        "closest_metres": episode.closest,
        "plans": episode.plans,
        "world": world.as_dict(),
        "paths": {
            name: episode.paths[:, number].tolist() for number, name in enumerate(world.names)
        },
    }
    if args.json:
        print_json(document)
    else:
        print(args.mission)
        reason = f": {episode.reason}" if episode.reason else ""
        met = counted(episode.collisions, "collision")
        print(f"{episode.outcome} after {counted(episode.steps, 'step')}, {met}{reason}")
        print(f"  the robots came no closer than {episode.closest:.2f} m")
    return 0 if episode.outcome == "accepted" else 1


def _place(name: str, text: str) -> tuple[float, ...]:
    """Return where a robot begins: x, y and perhaps its heading."""
    try:
        place = tuple(float(number) for number in text.split(","))
    except ValueError:
        place = ()
    if len(place) not in (2, 3):
        raise SkmError(f"--robots: '{text}' is no place; write \"{name}=X,Y\"")
    return place


def _document(
    args: argparse.Namespace,
    robots: tuple[str, ...],
    episode: TeamEpisode,
    building: Building | None,
) -> dict[str, Any]:
    def where(cell: int) -> Any:  # noqa: ANN401
        return cell if building is None else building.floor.centres[cell].tolist()

    plan = episode.first_plan
    return {
        "domain": args.domain,
        "mission": args.mission,
        "outcome": episode.outcome,
        "reason": episode.reason,
        "steps": episode.steps,
        "collisions": episode.collisions,
        "plans": episode.plans,
        "planned_steps": None if plan is None else plan.steps,
        "steps_without_reservations": None if plan is None else plan.free_steps or plan.steps,
        "optimal": plan is not None and plan.optimal,
        "cpu_seconds": None if plan is None else plan.seconds,
        "paths": {
            name: [where(cell) for cell in path]
            for name, path in zip(robots, episode.paths, strict=True)
        },
    }


def _print(document: dict[str, Any]) -> None:
    print(document["mission"])
    if document["planned_steps"] is not None:
        best = ", the fewest possible" if document["optimal"] else ""
        print(f"  planned: {counted(document['planned_steps'], 'step')}{best}")
    for name, path in document["paths"].items():
        moves = sum(a != b for a, b in pairwise(path))
        print(f"  {name}: {moves} moves, {len(path) - 1 - moves} waits")
    reason = f": {document['reason']}" if document["reason"] else ""
    met = counted(document["collisions"], "collision")
    print(f"{document['outcome']} after {counted(document['steps'], 'step')}, {met}{reason}")
