"""Who may talk to the page's server: loopback, or a token; and no page from elsewhere, ever.

A browser lets any page of the web open connections to this machine. So the Host must be an address of
this server (a foreign name that resolves to it is refused), and a WebSocket must come from a page that
this server has served (its Origin). Beyond the loopback everyone needs the token, which the first visit
puts into a cookie that scripts cannot read and that other sites' requests do not carry.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlsplit

TOKEN_VARIABLE: Final = "SKM_WEB_TOKEN"
"""The environment variable with a token to use; a server that is started again keeps it so."""


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def token_for(host: str) -> str:
    """Return the token that a server on this address asks for; empty on the loopback."""
    if is_loopback(host):
        return ""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(18)


class Gate:
    """Decides on requests by their headers."""

    def __init__(self, host: str, port: int, token: str = "") -> None:
        self._host = host
        self._token = token
        self.port = port

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of one host are shared by all of its ports."""
        return f"skm_{self.port}"

    def host_is_ours(self, host: str) -> bool:
        """Tell whether a request names this server by an address or a name of its own."""
        name, port = _split(host)
        if port not in ("", str(self.port)):
            return False
        if is_loopback(name) or name == self._host.lower():
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname().lower()
        return True

    def origin_is_ours(self, origin: str, host: str) -> bool:
        """Tell whether a WebSocket comes from a page that this server has served."""
        return origin.lower() == f"http://{host.lower()}"

    def token_is_right(self, cookies: str, query: str = "") -> bool:
        """Tell whether the token is not needed, or given by cookie or query."""
        if not self._token:
            return True
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            found = None
        given = [found.value] if found is not None else []
        given += parse_qs(query).get("token", [])
        return any(hmac.compare_digest(g.encode(), self._token.encode()) for g in given)

    def cookie_header(self) -> str:
        """Return the cookie that carries the token from now on."""
        return f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"


def _split(host: str) -> tuple[str, str]:
    """Return the name and the port of a Host header, in small letters; an address without brackets."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower(), "" if parts.port is None else str(parts.port)
    except ValueError:
        return "", "?"
