"""Operators' filters and weighers in the styles of Nova's releases."""
