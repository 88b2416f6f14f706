"""The screen in a browser: a server on this host's own address that starts a read-only screen for each visitor.

textual-serve brings the terminal for the browser and the talk with the application (textual's web driver). Its own
server asks nobody who they are, and its page fetches a font from elsewhere. On a login node a port of 127.0.0.1 is open
to all users, and to any web page that one of them looks at. So here the address holds a secret, and a request is
refused unless it asks for this host (DNS rebinding) and comes from this page (Origin).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import json
import secrets
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

HOST = "127.0.0.1"
#: The names by which a browser may ask for it; behind `ssh -L` the port is another one.
OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
#: Octets of the secret.
TOKEN_OCTETS = 24
#: Each visitor's screen reads the fabric itself.
MOST_VISITORS = 4
#: How long a screen that was told to end may take (seconds).
END_SECONDS = 5.0
#: No terminal is larger (cells).
MOST_CELLS = 1000

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="static/css/xterm.css">
<script src="static/js/textual.js"></script>
<script src="static/js/focus.js"></script>
<style>
@font-face {{ font-family: "Roboto Mono"; src: url("static/fonts/RobotoMono-VariableFont_wght.ttf"); }}
body {{ background: #101216; color: #d0d0d0; font-family: "Roboto Mono", monospace; }}
#ended {{ display: none; position: absolute; inset: 0; background: #101216; padding: 2em; z-index: 10; }}
body.-closed #ended {{ display: block; }}
</style></head><body>
<div id="ended">This screen has ended. Load the page again for another one.</div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="{socket}" data-font-size="14"></div>
</body></html>
"""

#: The keys go to the terminal without a click on it, as soon as it is connected.
_FOCUS = """new MutationObserver((_, observer) => {
  if (document.body.classList.contains("-loaded")) {
    observer.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }
}).observe(document.documentElement, { attributes: true, subtree: true });
"""


class Server:
    """Serves the screen that ``command`` starts."""

    def __init__(self, command: Sequence[str], title: str) -> None:
        self.token = secrets.token_urlsafe(TOKEN_OCTETS)
        # exec: the screen, not a shell, is the process that is ended.
        self._command = f"exec {shlex.join(command)}"
        self._title = title
        self._sockets: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        """What aiohttp runs."""
        application = web.Application(middlewares=[self._guard])
        application.router.add_get("/{token}/", self._page)
        application.router.add_get("/{token}/ws", self._visit)
        application.router.add_get("/{token}/static/{path:.+}", self._static)
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._end_all)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        """Refuse who asks for another host, comes from another page, or does not know the secret."""
        host = request.headers.get("Host", "")
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if name.lower() not in OWN_NAMES:
            raise web.HTTPForbidden(text="this server is for its own host only\n")
        origin = request.headers.get("Origin")
        if (origin is None and request.headers.get("Upgrade")) or origin not in (None, f"http://{host}"):
            raise web.HTTPForbidden(text="this request comes from another page\n")
        token = request.match_info.get("token", "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise web.HTTPNotFound(text="no such page; the address that `ibkit tui --serve` printed holds a secret\n")
        response: web.StreamResponse = await handler(request)
        return response

    async def _page(self, request: web.Request) -> web.Response:
        """The page with the terminal."""
        socket = f"ws://{request.host}/{self.token}/ws"
        text = _PAGE.format(title=html.escape(self._title), socket=html.escape(socket, quote=True))
        return web.Response(text=text, content_type="text/html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        """A file of the terminal's; only those that the package brings."""
        path = request.match_info["path"]
        if path == "js/focus.js":
            return web.Response(text=_FOCUS, content_type="text/javascript")
        if path not in _FILES:
            raise web.HTTPNotFound(text="no such file\n")
        file = resources.files("textual_serve") / "static" / path
        return web.Response(body=file.read_bytes(), content_type=_FILES[path])

    async def _visit(self, request: web.Request) -> web.WebSocketResponse:
        """A visitor's screen, from its first frame to its end."""
        if len(self._sockets) >= MOST_VISITORS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_VISITORS} screens are open already\n")
        socket = web.WebSocketResponse(heartbeat=15)
        self._sockets.add(socket)

        async def close() -> None:
            await socket.close()

        screen = AppService(
            self._command, write_bytes=socket.send_bytes, write_str=socket.send_str, close=close,
            download_manager=DownloadManager(),
        )  # fmt: skip
        try:
            await socket.prepare(request)
            await screen.start(_cells(request.query.get("width"), 80), _cells(request.query.get("height"), 24))
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await _pass_on(message.data, screen, socket)
        finally:
            self._sockets.discard(socket)
            await _end(screen)
        return socket

    async def _end_all(self, _: web.Application) -> None:
        for socket in list(self._sockets):
            await socket.close(code=1001)


_FILES = {
    "css/xterm.css": "text/css",
    "js/textual.js": "text/javascript",
    "fonts/RobotoMono-VariableFont_wght.ttf": "font/ttf",
    "fonts/RobotoMono-Italic-VariableFont_wght.ttf": "font/ttf",
}


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Nothing is loaded from elsewhere, nobody frames the page, and no one is told the address."""
    rules = (
        "default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "font-src 'self'",
        "img-src 'self' data:", f"connect-src 'self' ws://{_header_safe(request.host)}", "frame-ancestors 'none'",
        "base-uri 'none'", "form-action 'none'",
    )  # fmt: skip
    response.headers["Content-Security-Policy"] = "; ".join(rules)
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    response.headers["Cache-Control"] = "no-store"


def _header_safe(host: str) -> str:
    return "".join(letter for letter in host if letter.isascii() and (letter.isalnum() or letter in ".:[]-"))


def _cells(text: Any, default: int) -> int:
    """A width or a height as the browser tells it."""
    with contextlib.suppress(TypeError, ValueError):
        return max(1, min(MOST_CELLS, int(str(text)[:6])))
    return default


async def _pass_on(text: str, screen: AppService, socket: web.WebSocketResponse) -> None:
    """A message of the browser's: keys and mouse, another size, the focus. What is none is passed over."""
    try:
        kind, *data = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return
    if kind == "stdin" and data and isinstance(data[0], str):
        await screen.send_bytes(data[0].encode("utf-8", "replace"))
    elif kind == "resize" and data and isinstance(data[0], dict):
        await screen.set_terminal_size(_cells(data[0].get("width"), 80), _cells(data[0].get("height"), 24))
    elif kind == "ping" and data:
        await socket.send_json(["pong", data[0]])
    elif kind == "blur":
        await screen.blur()
    elif kind == "focus":
        await screen.focus()


async def _end(screen: AppService) -> None:
    """Tell the screen to end, and see to it that it does."""
    process = screen._process
    if process is None:
        return
    with contextlib.suppress(asyncio.TimeoutError, OSError):
        await asyncio.wait_for(screen.stop(), END_SECONDS)
    if process.returncode is None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
    if process.returncode is None:
        process.kill()
        await process.wait()


def serve(command: Sequence[str], port: int, title: str, ready: Callable[[str, int], None]) -> None:
    """Serve until SIGINT or SIGTERM. ``port`` 0 takes a free one; ``ready`` gets the address and the port.

    Raises OSError where the port is taken.
    """
    asyncio.run(_serve(command, port, title, ready))


async def _serve(command: Sequence[str], port: int, title: str, ready: Callable[[str, int], None]) -> None:
    server = Server(command, title)
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=2 * END_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        port = runner.addresses[0][1]
        end = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, end.set)
        ready(f"http://{HOST}:{port}/{server.token}/", port)
        await end.wait()
    finally:
        await runner.cleanup()


def screen_command(arguments: Sequence[str]) -> list[str]:
    """What starts a visitor's screen: this Python, this ibkit, and nothing that writes."""
    return [sys.executable, "-m", "ibkit", "tui", "--read-only", *arguments]
