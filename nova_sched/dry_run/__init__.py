"""Decisions without effect, by the code that serves."""
