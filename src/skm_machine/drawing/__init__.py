"""Pictures of machines, in plain SVG."""

from skm_machine.drawing.machine import draw_machine

__all__ = ["draw_machine"]
