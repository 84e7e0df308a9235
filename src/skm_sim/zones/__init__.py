"""ZoneEnv: the point robot among coloured zones, the benchmark of the newest zero-shot LTL agents."""
