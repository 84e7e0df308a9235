"""Measurements of skm on this machine: what `skm bench` runs, and parts of it that tests use.

It is a package of its own, which no other one but the command imports, and comes with skm: who brings
skm to a robot wants to know there how long a step takes and how soon the robot brakes. Importing it
imports no ROS yet.
"""

from skm_machine.version import __version__

__all__ = ["__version__"]
