"""Skill primitives (world value functions): goals, learners, composition, checkpoints."""
