"""Runs in MCAP files: written so that nothing is lost, read, and judged again. With or without ROS.

The format is in docs/recording.md. `files` reads any recording, `missions` puts the runs in it together,
`writer` writes one, `episode_recorder` records a run in process, `verification` judges it independently.
"""
