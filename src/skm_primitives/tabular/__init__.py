"""Skills in tables: Algorithm 1 in finite worlds, what it learned, few-shot, exact evaluation."""
