"""What is graded: the registry and every metric."""
