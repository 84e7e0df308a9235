"""From formulas to deterministic automata, on decision diagrams."""
