"""The files of the page, and the headers that they are served with."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from websockets.datastructures import Headers
from websockets.http11 import Response

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline, nothing from elsewhere, and no page that shows this one in a frame."""


@lru_cache(maxsize=1)
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return type and content of every file by its path; `/` is the page itself."""
    found = {}
    for file in files("skm_web").joinpath("static").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            found[f"/{file.name}"] = TYPES[suffix], file.read_bytes()
    found["/"] = found["/index.html"]
    return found


def response(
    status: HTTPStatus,
    body: bytes | str,
    kind: str = "text/plain; charset=utf-8",
    **further: str,
) -> Response:
    """Return an answer over HTTP with the headers that all have; further ones by name."""
    content = body.encode() if isinstance(body, str) else body
    headers = Headers()
    for name, value in {
        "Content-Type": kind,
        "Content-Length": str(len(content)),
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Connection": "close",
        **further,
    }.items():
        headers[name.replace("_", "-")] = value
    return Response(status.value, status.phrase, headers, content)
