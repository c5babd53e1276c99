"""What the service shows of itself: decision records, log lines, metrics."""
