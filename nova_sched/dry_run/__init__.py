"""Decisions without effect, made by the code of the service."""
