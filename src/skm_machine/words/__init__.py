"""Missions in plain words: the robotic mission patterns as a small language of their own."""
