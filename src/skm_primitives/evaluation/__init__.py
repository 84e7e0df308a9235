"""How well missions and skills are done: measured, with intervals."""
