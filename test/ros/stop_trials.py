"""STOP pressed while something is wrong between page and robot: a trial for each kind of fault.

Whatever is wrong, within half a second either the server has answered or the alarm is there, and stays;
and as soon as anything gets through again, the robot is at rest without anybody pressing again.
"""

import random
import signal
from dataclasses import dataclass

from office_page import PATROL, send

from browser import until

SECONDS = 0.5
ARM = """
window.trial = { pressed: null, alarm: null };
const press = () => { window.trial.pressed ??= performance.now(); };
const keyed = (event) => { if (event.key === "Escape") press(); };
document.addEventListener("keydown", keyed, { capture: true, once: true });
document.querySelector("#stop").addEventListener("pointerdown", press, { once: true });
new MutationObserver((_, observer) => {
  if (document.querySelector("#stop-alarm").hidden) return;
  window.trial.alarm = performance.now();
  observer.disconnect();
}).observe(document.querySelector("#stop-alarm"), { attributes: true });
"""
CONFIRMED = (
    "document.querySelector('#stop-alarm').hidden && document.querySelector('#stopping').hidden"
)
LATE = "document.querySelector('#stop-failed').textContent.includes('LATE')"
ALARM = "!document.querySelector('#stop-alarm').hidden"


@dataclass(frozen=True)
class Trial:
    """What one trial has shown."""

    kind: str
    alarm_after: float | None
    """Seconds from the key to the alarm; None: the server had answered in time, and the robot stood."""
    alarm_stayed: bool
    at_rest: bool
    whose: str = "desk"
    """Where it was pressed: `Escape` at a desk, or the button on a phone."""

    @property
    def passed(self):
        in_time = self.alarm_after is None or (self.alarm_after <= SECONDS and self.alarm_stayed)
        return in_time and self.at_rest


class StopTrials:
    """Trials on one office with its page, which a faulty network is before."""

    KINDS = ("frozen server", "dead server", "30 % loss", "2 s delay", "cut network")

    def __init__(self, office, network, page, seed=0, phone=None):
        """`phone` is a second page, of a device that is touched; each sees what the other has done."""
        self._office, self._network, self._page = office, network, page
        self._pages = {"desk": page} if phone is None else {"desk": page, "phone": phone}
        self._random = random.Random(seed)

    def begin(self):
        """Have the robot under way."""
        send(self._page, PATROL)
        self._page.wait_for_selector("#phase[data-phase=running]")

    def run(self, kind, whose="desk"):
        """Press STOP under one fault; see what the page shows and whether the robot comes to rest."""
        page = self._page = self._pages[whose]
        for each in self._pages.values():
            each.wait_for_selector("#status[data-kind=live]")
            each.wait_for_selector("#phase[data-phase=running]")
        assert not self._is_at_rest()
        page.evaluate(ARM)
        box = page.locator("#stop").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self._break(kind)
        # Of a page with anything in focus, and without asking it first: it may be cut off already.
        if whose == "phone":
            page.touchscreen.tap(*middle)
        else:
            page.keyboard.press("Escape")
        page.wait_for_timeout(1000 * SECONDS)
        trial = page.evaluate("window.trial")
        after = None if trial["alarm"] is None else (trial["alarm"] - trial["pressed"]) / 1000
        page.wait_for_timeout(self._random.choice((200, 1500, 5000)))
        stayed = after is None or page.evaluate(ALARM)
        self._mend(kind)
        self._office.system.wait_until(self._is_at_rest, "the robot to be at rest")
        # The alarm stays, also after the robot has stood: somebody has to see it. It may have come after
        # an answer in time, too, where the robot's state took too long to get here.
        until(page, f"{CONFIRMED} || {LATE}")
        if page.evaluate(ALARM):
            page.click("#seen")
        else:
            stayed = stayed and after is None
        at_rest = self._is_at_rest()
        self._network.heal()
        for each in self._pages.values():  # whoever pressed it, everybody sees it
            each.wait_for_selector("#alarm:not([hidden])")
        # More than once, as a person would: a stop that a bad network has held back may come after it.
        self._office.system.wait_until(self._is_let_go, "the robot to be let go")
        return Trial(kind, after, stayed, at_rest, whose)

    def _is_let_go(self):
        if self._is_at_rest():
            self._page.evaluate("document.querySelector('#resume:not([hidden])')?.click()")
            self._page.wait_for_timeout(300)
        return not self._is_at_rest()

    def _is_at_rest(self):
        seen = self._office.system.traffic.observations
        del seen.messages[:-1]
        return bool(seen.messages and seen.last.stopped)

    def _break(self, kind):
        office, network = self._office, self._network
        if kind == "frozen server":
            office.web.signal_group(signal.SIGSTOP)
        elif kind == "dead server":
            office.kill_web()
        elif kind == "30 % loss":
            network.loss = 0.3
        elif kind == "2 s delay":
            network.delay = 2.0
        else:
            network.cut = True

    def _mend(self, kind):
        if kind == "frozen server":
            self._office.web.signal_group(signal.SIGCONT)
        elif kind == "dead server":
            self._office.start_web()
        elif kind == "cut network":
            self._network.heal()
