"""Checks before this service replaces a nova-scheduler."""
