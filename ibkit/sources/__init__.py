"""Where bytes come from: this host, a capture, a raw output. Nothing else runs a command or opens /sys."""
