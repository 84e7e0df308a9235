"""The page: a run in a browser, live or from a recording. No ROS is imported here."""

from skm_machine.version import __version__
from skm_web.hub import Hub
from skm_web.views import RunView

__all__ = ["Hub", "RunView", "__version__"]
