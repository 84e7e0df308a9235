"""The machine's view of a robot on a map: what blocks its ways, which places are closed, the leg ahead.

Relative to the machine's namespace (/skm):
    subscribes  robot_status (skm/RobotStatus) of the bridge, latched
    publishes   leg (skm/Leg), while somebody listens
    offers      set_place (skm/SetPlace)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skm.msg import Leg, RobotStatus
from skm.srv import SetPlace

from skm_machine.errors import did_you_mean
from skm_primitives.execution.closed_places import ClosedPlaces, state_folder
from skm_primitives.execution.mission_run import MissionRun
from skm_primitives.execution.replanning import (
    cells_of_places,
    known_cells,
    way_ahead,
    without_actions,
    without_cells,
)
from skm_primitives.skills.values import RemoteSkills
from skm_ros import qos
from skm_ros.nodes.skm_node import Setting, SkmNode
from skm_ros.nodes.state_stream import WorldState
from skm_sim.finite_world import FiniteWorld

SETTINGS: Final = (
    Setting(
        "state_folder",
        "",
        "folder for what outlives the node, such as closed places; empty: ~/.local/state/skm/NAMESPACE",
        fixed=True,
    ),
    Setting(
        "stuck_after",
        60.0,
        "real time: seconds without a new state after which a mission ends without progress, unless a"
        " person has stopped the robot, or the mission has to wait; 0: never",
        low=0.0,
        high=86400.0,
    ),
)


class RobotPeer:
    """What is known of the robot beyond its states; `on_change` is called when its ways have changed.

    `skills` returns what is known of the primitives.
    """

    def __init__(
        self,
        node: SkmNode,
        skills: Callable[[], RemoteSkills | None],
        on_change: Callable[[], None],
    ) -> None:
        self._node, self._skills, self._on_change = node, skills, on_change
        self.status = RobotStatus()
        """The last that the bridge has said; as made where there is none."""
        folder = state_folder(node.setting("state_folder"), node.get_namespace())
        self.folder = folder
        self._closed = ClosedPlaces(folder)
        self._legs = node.create_publisher(Leg, "leg", qos.LATCHED)
        self._said: tuple[object, ...] = ()
        self._ahead: frozenset[int] = frozenset()
        node.create_subscription(RobotStatus, "robot_status", self._on_status, qos.LATCHED)
        node.create_service(
            SetPlace, "set_place", self._on_set_place, callback_group=node.low_priority
        )

    # What the bridge says

    def _on_status(self, status: RobotStatus) -> None:
        before, self.status = self.status, status
        new_failure = status.failure and status.failure != before.failure
        others = list(status.blocked), list(status.unavailable)
        if others != (list(before.blocked), list(before.unavailable)) or new_failure:
            self._on_change()

    @property
    def cause(self) -> str:
        """Why the robot does not get on, as far as the bridge knows, for the end of a sentence."""
        status = self.status
        return str(status.failure or status.stopped or status.blocked_by)

    # Which ways are open

    def closed(self, skills: RemoteSkills) -> tuple[str, ...]:
        """Return the places of a domain that are out of service."""
        return tuple(self._closed.in_domain(skills.domain))

    def open_ways(self, skills: RemoteSkills, *, blocked: bool = True) -> RemoteSkills:
        """Return the skills without ways into closed places, and into blocked cells, too."""
        world = known_cells(skills)
        if world is None:
            return skills
        cells = set(cells_of_places(world, self.closed(skills)).tolist())
        if blocked:
            cells |= {cell for cell in self.status.blocked if cell < len(world.successors)}
        free = without_cells(skills, cells)
        return without_actions(free, self.status.unavailable) if blocked else free

    def _on_set_place(
        self, request: SetPlace.Request, response: SetPlace.Response
    ) -> SetPlace.Response:
        skills = self._skills()
        if skills is None:
            response.message = "nothing is known of the places yet: the primitives are not there"
            return response
        response.message = self._set(skills, request)
        response.success = not response.message
        if response.success and request.name:
            response.message = f"{request.name} is {'out of' if request.closed else 'in'} service"
            self._node.get_logger().warning(response.message)
            self._on_change()
        closed = self._closed.in_domain(skills.domain)
        response.closed_places, response.notes = list(closed), list(closed.values())
        return response

    def _set(self, skills: RemoteSkills, request: SetPlace.Request) -> str:
        """Close a place or open it; return what is wrong with the request, else nothing."""
        name = request.name[:100]
        if known_cells(skills) is None:
            return f"the domain '{skills.domain}' has no map: places of maps can be closed"
        if not name:
            return ""
        if name not in skills.propositions:
            return f"there is no place '{name}'{did_you_mean(name, skills.propositions)}"
        if request.closed:
            self._closed.close(skills.domain, name, request.note[:1000])
        elif not self._closed.open(skills.domain, name):
            return f"{name} was in service"
        return ""

    # The way ahead

    def publish_leg(self, run: MissionRun, target: str, state: WorldState) -> None:
        """Publish the way ahead, if somebody listens and it is another one than before."""
        known = isinstance(run.skills.world_model, FiniteWorld) and state.value is not None
        if not known or not self._legs.get_subscription_count():
            return
        # The next round of a recurring mission may begin in the same state.
        key = (run, run.policy, *state.key[:2], run.tracker.state, run.tracker.moves)
        cell = int(state.value)
        if key == self._said and cell in self._ahead:
            return  # It is on its way.
        way = way_ahead(run, cell)
        self._said, self._ahead = key, frozenset(() if way is None else way.cells)
        leg = Leg(target=target)
        leg.session, leg.episode, leg.step = state.key
        if state.observation is not None:
            leg.header = state.observation.header
        if way is not None:
            leg.cells = list(way.cells)
            leg.avoid = [",".join(sorted(labels)) for labels in way.avoid]
        self._legs.publish(leg)
