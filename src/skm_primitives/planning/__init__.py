"""From a mission and the skills to the next action: planners and policies."""
