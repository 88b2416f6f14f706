"""``ibkit tui --serve``: in a real browser, and who is turned away."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from support.browser import browser
from support.ended import wait_until_ended
from support.tui_pilot import PATIENCE_SECONDS

ROOT = Path(__file__).parent.parent.parent
FAT_TREE = ROOT / "fixtures" / "fat-tree"


class Served(NamedTuple):
    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    command = [sys.executable, "-m", "ibkit", "tui", "fabric", "--from", str(FAT_TREE), "--serve"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield Served(process.stdout.readline().strip(), process)
    process.kill()
    process.communicate()


async def until_children(served: Served, number: int) -> None:
    """Until so many screens run; the last one is the last visitor's."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(served.children) != number:
        assert time.monotonic() < deadline, served.children
        await asyncio.sleep(0.05)


async def until_shown(socket: aiohttp.ClientWebSocketResponse, word: bytes) -> bytes:
    """All until a visitor has been sent a word, in however many pieces."""
    seen = b""
    while word not in seen:
        message = await socket.receive(PATIENCE_SECONDS)
        assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
        seen += message.data if message.type == aiohttp.WSMsgType.BINARY else b""
    return seen


@pytest.mark.needs("browser")
async def test_a_browser_shows_it_and_keys_and_mouse_work(served: Served, tmp_path: Path) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", served.address)
    async with browser(tmp_path / "profile") as tab:
        await tab.open(served.address)
        await tab.until("Fabric 123 nodes")
        await tab.until("REPLAY of fat-tree")
        before = await tab.picture()
        tab.forget()
        await tab.key("0")
        await tab.until("Links 214 links")
        await tab.key("f")
        await tab.until("3 of 214 links")
        for _ in range(1200):  # what was sent is painted a little later
            if (picture := await tab.picture()) != before:
                break
            await asyncio.sleep(0.05)
        assert picture != before, "the page is painted anew"
        tab.forget()
        await tab.click(8 * 3, 17 + 8)  # the second line holds the pages; its first is the overview
        await tab.until("1 critical")
        tab.forget()
        await tab.key("?")
        await tab.until("Keys here")
        await tab.until("copy the row")
        assert "to a file" not in tab.stream, "it only reads: that key would stand above"
        assert {url.partition(served.address)[0] for url in tab.requests} == {""}, "nothing from elsewhere"
        assert tab.complaints == []
        screens = served.children
        assert len(screens) == 1
        # Another port of this host with the same secret, or this one with another: no page.
        await tab.open(f"http://127.0.0.1:{served.port}/{'x' * 32}/")
        for _ in range(1200):
            if "no such page" in (text := await tab.evaluate("document.body ? document.body.innerText : ''") or ""):
                break
            await asyncio.sleep(0.05)
        assert "no such page" in text
    wait_until_ended(screens, PATIENCE_SECONDS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["profile"], "nothing was written"


async def test_who_is_turned_away(served: Served) -> None:
    base, token = served.address.rstrip("/").rpartition("/")[::2]
    own = f"127.0.0.1:{served.port}"
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==",
    }  # fmt: skip
    cases: list[tuple[int, str, dict[str, str]]] = [
        (200, f"{token}/", {}),
        (200, f"{token}/", {"Host": "localhost:8000"}),  # behind ssh -L
        (200, f"{token}/static/js/textual.js", {}),
        (403, f"{token}/", {"Host": "evil.example"}),  # DNS rebinding
        (403, f"{token}/", {"Host": f"evil.example:{served.port}"}),
        (403, f"{token}/", {"Host": "127.0.0.1.evil.example"}),
        (403, f"{token}/", {"Host": ""}),
        (403, f"{token}/", {"Origin": "http://evil.example"}),
        (403, f"{token}/", {"Origin": "null"}),
        (403, f"{token}/ws", {**upgrade, "Origin": "http://evil.example"}),
        (403, f"{token}/ws", {**upgrade, "Origin": f"http://127.0.0.1:{served.port + 1}"}),
        (403, f"{token}/ws", upgrade),  # a browser always tells
        (404, f"{'x' * 32}/ws", {**upgrade, "Origin": f"http://{own}"}),
        (404, f"{token[:-1]}/", {}),
        (404, "", {}),
        (404, f"{token}/static/../server.py", {}),
        (404, f"{token}/static/%2e%2e/server.py", {}),
        (404, f"{token}/static//etc/passwd", {}),
        (404, f"{token}/nothing", {}),
    ]
    async with aiohttp.ClientSession() as session:
        for status, path, headers in cases:
            async with session.get(f"{base}/{path}", headers=headers) as response:
                assert response.status == status, (path, headers)
                assert response.headers["Referrer-Policy"] == "no-referrer"
                assert "default-src 'none'" in response.headers["Content-Security-Policy"]
                assert token not in await response.text() or response.status == 200
    assert served.children == [], "nobody got a screen"


async def test_a_screen_ends_with_its_visitor_its_server_and_where_there_are_too_many(served: Served) -> None:
    origin = served.address.split("/", 3)
    headers = {"Origin": "/".join(origin[:3])}
    async with aiohttp.ClientSession() as session:
        sockets = []
        for number in range(1, 5):
            sockets.append(await session.ws_connect(f"{served.address}ws", headers=headers))
            await until_children(served, number)
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            await session.ws_connect(f"{served.address}ws", headers=headers)
        for text in ("", "[]", "{}", "[1]", '["stdin"]', '["stdin", 5]', '["resize", {"width": "x"}]', "[" * 10_000):
            await sockets[0].send_str(text)
        await until_shown(sockets[0], b"Fabric")
        screens = served.children
        await sockets[3].close()
        await asyncio.to_thread(wait_until_ended, screens[3:], PATIENCE_SECONDS)
        served.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(wait_until_ended, screens, PATIENCE_SECONDS)
        out, err = await asyncio.to_thread(served.process.communicate)
    assert (served.process.returncode, out) == (0, "")
    assert "ssh -L" in err
    assert "Traceback" not in err


async def test_a_visitor_writes_nothing_and_ctrl_c_ends_the_server(served: Served, tmp_path: Path) -> None:
    headers = {"Origin": "/".join(served.address.split("/", 3)[:3])}
    listening = {
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
    }
    assert f"0100007F:{served.port:04X}" in listening, "127.0.0.1 only"
    assert f"00000000:{served.port:04X}" not in listening
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{served.address}ws", headers=headers) as socket,
    ):
        await until_shown(socket, b"Fabric")
        await socket.send_json(["stdin", "8"])
        seen = await until_shown(socket, b"undecided")
        for key in "WeT?":
            await socket.send_json(["stdin", key])
        seen += await until_shown(socket, b"copy the row")
        assert b"write into the expectations" not in seen
        assert b"the file of expectations" not in seen
        assert b"Write to a file" not in seen
        assert b"compare with" not in seen
        served.process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(served.process.communicate)
    assert (served.process.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


async def test_a_screen_ends_when_its_server_is_killed(served: Served) -> None:
    headers = {"Origin": "/".join(served.address.split("/", 3)[:3])}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{served.address}ws", headers=headers) as socket,
    ):
        await until_shown(socket, b"Fabric")
        screens = served.children
        served.process.kill()
        await asyncio.to_thread(wait_until_ended, screens, PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--serve", "80"], "invalid port value: '80'"),
        (["--serve", "x"], "invalid port value: 'x'"),
        (["--serve", "--from", "/nowhere"], "/nowhere"),
    ],
)
def test_what_cannot_be_served_is_told(arguments: list[str], said: str) -> None:
    command = [sys.executable, "-m", "ibkit", "tui", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_told(served: Served) -> None:
    command = [sys.executable, "-m", "ibkit", "tui", "--from", str(FAT_TREE), "--serve", str(served.port)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ibkit: port {served.port} of 127.0.0.1: ")
    assert "name another one" in done.stderr


def test_without_textual_serve_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "textual_serve.py").write_text("raise ModuleNotFoundError('no', name='textual_serve')")
    command = [sys.executable, "-m", "ibkit", "tui", "--from", str(FAT_TREE), "--serve"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'ibkit[serve]'" in done.stderr
