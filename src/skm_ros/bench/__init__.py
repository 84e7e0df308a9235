"""How fast the nodes go round, and whether they are in time."""
