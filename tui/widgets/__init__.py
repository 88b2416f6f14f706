"""The widgets: thin shells that paint what ibkit.tui.view computed."""
