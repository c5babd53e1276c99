"""Checks before the service starts, or replaces a nova-scheduler."""
