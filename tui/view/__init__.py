"""What the screens show, without a terminal: models in, rows and lines out. Pure, and textual is not imported here."""
