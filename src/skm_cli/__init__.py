"""The `skm` command: one module per sub-command, each a thin shell around the library."""

from skm_machine.version import __version__

__all__ = ["__version__"]
