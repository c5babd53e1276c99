"""Benchmarks of the service, compared with an empty RPC round trip."""

# Import nova_sched before oslo.messaging: it selects native threads.
import nova_sched  # noqa: F401
