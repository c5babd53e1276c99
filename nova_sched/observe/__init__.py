"""What is seen of the service from outside: its records and log lines."""
