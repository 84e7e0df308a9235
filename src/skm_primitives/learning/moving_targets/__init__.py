"""The learner of Moving Targets from pictures."""
