"""Pictures of machines, in plain SVG."""

from skm_machine.drawing.machine_picture import draw_machine

__all__ = ["draw_machine"]
