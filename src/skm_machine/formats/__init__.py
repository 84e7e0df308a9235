"""Files that machines are read from and written to: HOA, reward-machine files, Graphviz."""
