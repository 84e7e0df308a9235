"""Single skills of Moving Targets, evaluated from pictures."""
