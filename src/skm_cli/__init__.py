"""The `skm` command: one module per sub-command, each a thin shell around the core packages."""
