"""Placement: asking it for hosts, and claiming them there, over HTTP."""
