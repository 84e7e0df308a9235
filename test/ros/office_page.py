"""The office in real time with its page: what the tests of the page share."""

import json

from harness import System, node_process

from browser import until

PATROL = "G F A & G F B & G !decoration"
ADDRESS = r"the page is at (\S+)", "the page's address"
PARAMETERS = {  # slow and patient: a busy machine must not end a mission
    "machine": {"resume_after": 60.0, "peer_timeout": 60.0, "events": "call"},
    "sim": {"mode": "realtime", "rate": 5.0, "render": "markers", "marker_rate": 15.0},
}


class Office:
    """Four nodes: the office in real time, and its page."""

    def __init__(self, domain_id, sim=(), web=()):
        parameters = {**PARAMETERS, "sim": {**PARAMETERS["sim"], **dict(sim)}}
        self.system = System(domain_id, parameters=parameters)
        self._web_parameters = dict(web)
        self.web = node_process("web", domain_id, port=0, **self._web_parameters)

    def wait_ready(self):
        self.url = self.web.told(*ADDRESS)
        self.port = int(self.url.rstrip("/").rpartition(":")[2])
        self.system.wait_ready()

    def kill_web(self):
        self.web.kill()
        self.web.stop()

    def start_web(self):
        number = self.system.domain_id
        self.web = node_process("web", number, port=self.port, **self._web_parameters)
        self.web.told(*ADDRESS)

    def restart_web(self):
        self.kill_web()
        self.start_web()

    def stop(self):
        self.web.stop_cleanly()
        self.system.stop()

    def discard(self):
        self.web.stop()
        self.system.discard()


def send(page, mission):
    """Send a mission, and wait until it is the present one."""
    page.fill("#mission-text", mission)
    page.wait_for_selector("#send:not([disabled])")
    page.click("#send")
    until(page, f"document.querySelector('#current').textContent === {json.dumps(mission)}")
