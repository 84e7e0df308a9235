"""What the domains with Safety Gym's point robot share: physics, lidar, environment, drawing."""
