"""Few-shot learning of one task on top of the skills (Algorithm 3)."""
