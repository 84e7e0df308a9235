"""The nodes: simulator, primitives, skill machine."""
