"""Safety: Safety Gym's point robot among buttons, regions and a cylinder."""
