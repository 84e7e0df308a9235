"""A mission under way: one state at a time, or a whole episode."""
