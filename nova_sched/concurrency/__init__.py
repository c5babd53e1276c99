"""Threads of one process that take turns."""
