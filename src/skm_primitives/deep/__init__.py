"""Learners of skill primitives with function approximation, and how what they learn is served."""
