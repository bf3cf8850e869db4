"""The page's files and how browsers are to treat them: names in, responses out. Nothing on it comes from elsewhere."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
GUARDS = {  # nothing from other sites, nothing inside other sites' frames, no guessing of types
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def page_response(name: str, request: Request) -> Response:
    """A file of the page; 304 for a browser that has it already."""
    files = page_files()
    if name not in files:
        raise HTTPException(404, "no such file of the page")
    content, kind = files[name]
    mark = f'"{sha256(content).hexdigest()[:32]}"'
    headers = GUARDS | {"Cache-Control": "no-cache", "ETag": mark}
    if request.headers.get("if-none-match") == mark:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Every file by its name: content and type.

    >>> page_files()["index.html"][1]
    'text/html; charset=utf-8'
    """
    return {path.name: (path.read_bytes(), f"{TYPES[path.suffix]}; charset=utf-8") for path in FOLDER.iterdir()}
