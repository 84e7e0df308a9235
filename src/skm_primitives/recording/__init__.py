"""Runs in MCAP files: written so that nothing is lost, read, and judged again. With or without ROS.

The format is in docs/how-to/recording.md. `files` reads any recording, `missions` its runs,
`writer` writes one, `episode_recorder` records a run in process, `verification` judges it independently.
"""
