"""The HCAs of the hosts, and what the doctor says of them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.tui.pages.page import Content, Outcome, Page, PageKey, why_empty
from ibkit.tui.snapshot import Reading, Snapshot
from ibkit.tui.view import doctor, host
from ibkit.tui.view.lines import Line


class HostPage(Page):
    """The HCAs of the hosts: ports, GIDs, P_Keys."""

    name, title = "host", "Host"
    opens = False
    detail_rows = -1
    keys = (PageKey("d", "doctor", "what ibkit can see on the host, and what mends the rest", "doctor"),)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of ports."""
        seen = [reading.value for reading in snapshot.hosts.values() if reading.value is not None]
        reasons = [why_empty(reading, f"host {name}".rstrip()) for name, reading in snapshot.hosts.items()]
        return Content(table=host.port_table(seen), empty="; ".join(reasons) or "no host is recorded here")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All of the port under the cursor."""
        if not isinstance(key, host.PortKey):
            return []
        reading = snapshot.hosts.get(key.host, Reading())
        return host.port_page(reading.value, key) if reading.value else []

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """What the doctor says."""
        return DoctorPage()


class DoctorPage(Page):
    """What the doctor says of the hosts."""

    name, title = "doctor", "Doctor"
    opens = False
    detail_rows = 6

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of checks."""
        seen = [reading.value for reading in snapshot.doctors.values() if reading.value is not None]
        reasons = [why_empty(reading, f"host {name}".rstrip()) for name, reading in snapshot.doctors.items()]
        empty = "; ".join(reasons) or "one tool's output says nothing about its host"
        return Content(table=doctor.check_table(seen), empty=empty)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """What was seen, what follows, what mends it."""
        return doctor.check_lines(key.check) if isinstance(key, doctor.CheckKey) else []
