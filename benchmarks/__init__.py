"""Measurements of the service against an empty RPC round trip."""
