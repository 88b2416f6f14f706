"""``python -m ibkit``."""

from __future__ import annotations

from ibkit.cli.main import main

raise SystemExit(main())
