"""Robots to try the bridge on: bodies that others made, with walls, a laser and imperfect messages."""
