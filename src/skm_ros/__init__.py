"""The ROS 2 side of skm, and the only package that imports rclpy: nodes, client, launch, benchmarks."""
