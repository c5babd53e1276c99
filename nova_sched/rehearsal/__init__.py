"""Decisions without effect, by the very code that serves."""
