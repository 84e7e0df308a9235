"""Driving a robot through the cells of a map: where it is, what it follows, what stops it; no ROS."""
