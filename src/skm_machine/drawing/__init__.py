"""Pictures of machines, in plain SVG."""
