"""Tests that drive the application are coroutines; each runs in an event loop of its own."""

from __future__ import annotations

import asyncio
import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def patient_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key waits for what the one before leads to; how long that may take on a busy machine is not what is tested."""
    monkeypatch.setattr("ibkit.tui.typed.PATIENCE_SECONDS", 10.0)
