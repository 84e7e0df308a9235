"""Skills as they are served: goals, values, composition, checkpoints; NumPy only."""
