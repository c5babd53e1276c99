"""Limits of plug-ins in a dry run: they must not change anything."""

from nova_sched.compat import report_methods

#: SchedulerReportClient that only reads, for all plug-ins; None where plug-ins
#: may claim, call schedulers and send notifications.
reader = None


def is_limited():
    """Return whether plug-ins may read only."""
    return reader is not None


def limit(client):
    """Limit plug-ins of this process to reading Placement by a client.

    client: SchedulerReportClient; None removes the limit.
    """
    global reader
    reader = client and report_methods.with_nova_methods(client)
