"""Requests of RPC 4.2 and older, and requests as Kilo's filters read them."""
