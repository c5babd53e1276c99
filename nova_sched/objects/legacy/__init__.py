"""Requests in the forms of RPC 4.2 and older, and as Kilo's filters read them."""
