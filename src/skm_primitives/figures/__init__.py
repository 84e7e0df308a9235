"""Pictures of what was learned and of runs, as matplotlib figures."""
