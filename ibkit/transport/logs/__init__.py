"""What the output of a job says of its transport: its files, who speaks in them, each runtime, the verdict."""
