"""The learner of Moving Targets from pictures, and what it learned."""
