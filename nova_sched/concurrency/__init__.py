"""Threads, and the turns in which they compute."""
