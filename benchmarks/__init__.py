"""Benchmarks of the service, compared with an empty RPC round trip."""

# Before a benchmark imports oslo.messaging: it chooses native threads.
import nova_sched  # noqa: F401
