"""Benchmarks of the service, compared with an empty RPC round trip."""
