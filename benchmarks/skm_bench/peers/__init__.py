"""Worlds in which others measure zero-shot agents, written from their descriptions."""
