"""A headless browser, driven over its DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import asyncio
import base64
import glob
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

import system_packages

#: Of a terminal's stream: what moves and paints, which is no text.
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?$<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def program() -> str:
    """The browser that is installed."""
    return next(path for pattern in system_packages.NEEDS["browser"].files for path in glob.glob(pattern))


class Tab:
    """A page in the browser. ``stream`` is the text that its terminal has been sent."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._session: str | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())
        self.stream = ""
        self.requests: list[str] = []
        self.complaints: list[str] = []

    async def open(self, address: str) -> None:
        """Go to an address, in a tab of its own."""
        target = await self.send("Target.createTarget", url="about:blank")
        attached = await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        await self.send("Emulation.setDeviceMetricsOverride", width=1200, height=700, deviceScaleFactor=1, mobile=False)
        await self.send("Page.navigate", url=address)

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, and its answer."""
        number = len(self._answers) + 1
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message | ({"sessionId": self._session} if self._session else {}))
        return await asyncio.wait_for(answer, 120)

    async def key(self, text: str) -> None:
        """Type a letter."""
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, key=text, unmodifiedText=text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=text)

    async def click(self, x: float, y: float) -> None:
        """Click on a place (pixels)."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def evaluate(self, expression: str) -> Any:
        """What JavaScript says."""
        return (await self.send("Runtime.evaluate", expression=expression))["result"].get("value")

    async def picture(self) -> bytes:
        """The page as it is painted."""
        return base64.b64decode((await self.send("Page.captureScreenshot"))["data"])

    async def until(self, words: str, seconds: float = 120.0) -> None:
        """Wait until the terminal was sent these words since the last :meth:`forget`."""
        for _ in range(int(seconds / 0.05)):
            if words in " ".join(ESCAPES.sub(" ", self.stream).split()):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{words!r} does not come: {ESCAPES.sub(' ', self.stream)[-2000:]}; {self.complaints}")

    def forget(self) -> None:
        """What comes from here on is new."""
        self.stream = ""

    async def _read(self) -> None:
        async for message in self._socket:
            told = message.json()
            if "id" in told:
                answer = self._answers[told["id"]]
                if "error" in told:
                    answer.set_exception(RuntimeError(told["error"]["message"]))
                else:
                    answer.set_result(told["result"])
            elif told["method"] == "Network.webSocketFrameReceived":
                frame = told["params"]["response"]
                data = base64.b64decode(frame["payloadData"]) if frame["opcode"] == 2 else b""
                self.stream += data.decode("utf-8", "replace")
            elif told["method"] == "Network.requestWillBeSent":
                self.requests.append(told["params"]["request"]["url"])
            elif told["method"] == "Runtime.exceptionThrown" or (
                told["method"] == "Log.entryAdded" and told["params"]["entry"]["level"] == "error"
            ):
                self.complaints.append(str(told["params"]))

    async def close(self) -> None:
        """Read no more."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Tab]:
    """A browser with one tab; its profile is kept in ``folder``."""
    process = subprocess.Popen(
        [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        port, path = await _active_port(folder / "DevToolsActivePort")
        address = f"ws://127.0.0.1:{port}{path}"
        async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
            tab = Tab(socket)
            try:
                yield tab
            finally:
                await tab.close()
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started
        process.wait()


async def _active_port(file: Path) -> list[str]:
    """Where it listens, which it writes into its profile."""
    for _ in range(2400):
        if file.exists() and len(lines := file.read_text().split()) == 2:
            return lines
        await asyncio.sleep(0.05)
    raise AssertionError("the browser does not start")
