"""What a program that is no person, such as a language model, may ask for: it proposes, skm decides.

An assistant can have missions checked, propose one, ask how things are, and stop the robot. It can send
nothing else, whatever it says: this is all that its connection answers. A mission that it wants to be
run is checked first, then waits on the page until a person takes or refuses it; only a server that was
started so (`run`) sends it at once. Every call is noted, with its answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from skm_machine.errors import SkmError
from skm_web.hub import Hub
from skm_web.mission_check import MOST_CHARACTERS

POLICIES: Final = ("confirm", "run", "off")
"""A person confirms each mission; missions run at once; assistants are not answered."""
CALLS: Final = ("check", "propose", "run", "status", "proposal", "stop")
MOST_PROPOSALS: Final = 5
MOST_WHY: Final = 500
MOST_NOTED: Final = 2000
"""Characters of a call, and of its answer, that are noted."""
STATUS: Final = ("mission", "words", "world", "labels", "events", "controls", "stale", "domain")

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Assistant:
    """Answers assistants; `handle` of the page does what a person may do."""

    def __init__(
        self,
        hub: Hub,
        page: Handler,
        note: Callable[[str], None] = lambda _: None,
        policy: str = "confirm",
    ) -> None:
        if policy not in POLICIES:
            raise SkmError(f"assistants are answered by {', '.join(POLICIES)}, not '{policy}'")
        self._hub, self._page, self._note, self.policy = hub, page, note, policy
        self._proposals: list[dict[str, Any]] = []
        self._number = 0
        hub.put("proposals", [])

    # The assistant's side

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a call of an assistant, and note it."""
        kind = request["type"]
        answers = {
            "check": self._check,
            "propose": self._propose,
            "run": self._run,
            "status": self._status,
            "proposal": self._look,
            "stop": self._stop,
        }
        try:
            if self.policy == "off":
                raise SkmError("this robot takes no assistants (assistant: off)")
            if kind not in answers:
                raise SkmError(f"assistants have {', '.join(CALLS)}, and nothing else")
            answer = await answers[kind](request)
        except SkmError as error:
            answer = {"ok": False, "message": str(error)}
        given = {key: value for key, value in request.items() if key not in ("type", "id")}
        said = {"at": round(time.time(), 3), "call": _short(kind), "given": _short(given)}
        self._note(json.dumps({**said, "answer": _short(answer)}, allow_nan=False))
        return answer

    async def _check(self, request: dict[str, Any]) -> dict[str, Any]:
        return await self._page({"type": "check", "text": _text(request, "mission")})

    async def _status(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        found = {name: self._hub.value(name) for name in STATUS}
        return {"ok": True, "status": found, "proposals": list(self._proposals)}

    async def _stop(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        return await self._page({"type": "stop"})

    async def _propose(self, request: dict[str, Any]) -> dict[str, Any]:
        """Put a mission before a person, if it can be done."""
        mission, why = _text(request, "mission"), _text(request, "why", MOST_WHY)
        verdict = await self._checked(mission)
        self._number += 1
        proposal = {
            "id": self._number,
            "mission": mission,
            "words": verdict.get("words") or verdict.get("formula") or "",
            "why": why,
            "state": "waiting",
        }
        for older in self._waiting()[: -(MOST_PROPOSALS - 1)]:
            older["state"] = "withdrawn"  # nobody has looked at it for long
        self._proposals = [*self._proposals, proposal][-4 * MOST_PROPOSALS :]
        self._show()
        said = "it waits on the page for a person's confirmation"
        return {"ok": True, "proposal": self._number, "state": "waiting", "message": said}

    async def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.policy == "confirm":
            return await self._propose(request)
        mission = _text(request, "mission")
        await self._checked(mission)
        return await self._page({"type": "send", "mission": mission, "when": "queue"})

    async def _look(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, **self._find(request.get("proposal"))}

    async def _checked(self, mission: str) -> dict[str, Any]:
        """Return what a mission means; one that cannot be done goes no further."""
        answer = await self._page({"type": "check", "text": mission})
        verdict: dict[str, Any] = answer.get("verdict") or {}
        if not answer.get("ok") or not verdict.get("ok"):
            raise SkmError(verdict.get("error") or answer.get("message") or "there is no mission")
        if not verdict.get("possible"):
            why = " ".join(verdict.get("remarks") or verdict.get("sentences") or ())
            raise SkmError(f"this mission cannot be done here. {why}".strip())
        return verdict

    # The person's side

    async def decide(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take or refuse a proposal; a request of the page, so a person's."""
        proposal = self._find(request.get("proposal"))
        if proposal["state"] != "waiting":
            raise SkmError(f"this proposal does not wait any more: {proposal['state']}")
        if not request.get("accept"):
            proposal["state"] = "refused"
            self._show()
            return {"ok": True, "message": "the proposal is refused"}
        proposal["state"] = "confirmed"
        answer = await self._page(
            {"type": "send", "mission": proposal["mission"], "when": "queue"}
        )  # it interrupts nothing
        proposal["state"] = "running" if answer.get("ok") else "not taken"
        self._show()
        about = {"call": "confirmed by a person", "given": proposal["mission"]}
        self._note(json.dumps({"at": round(time.time(), 3), **about, "answer": _short(answer)}))
        return answer

    def _waiting(self) -> list[dict[str, Any]]:
        return [proposal for proposal in self._proposals if proposal["state"] == "waiting"]

    def _find(self, number: object) -> dict[str, Any]:
        for proposal in self._proposals:
            if type(number) is int and proposal["id"] == number:
                return proposal
        raise SkmError("there is no such proposal")

    def _show(self) -> None:
        self._hub.put("proposals", [dict(proposal) for proposal in self._waiting()])


def _text(request: dict[str, Any], name: str, most: int = MOST_CHARACTERS) -> str:
    text = request.get(name, "")
    if not isinstance(text, str) or len(text) > most:
        raise SkmError(f"{name} is a text of at most {most} characters")
    return text


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= MOST_NOTED else f"{text[:MOST_NOTED]}…"
