"""Neutron: reading ports, and the segments of networks, over HTTP."""
