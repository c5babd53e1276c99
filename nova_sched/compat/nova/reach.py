"""Limits of plug-ins in a dry run: they must not change anything."""

from nova_sched.compat import report_methods

#: The SchedulerReportClient of all plug-ins; None where plug-ins may claim,
#: call schedulers and send notifications.
read_only_client = None


def is_limited():
    """Return whether plug-ins may read only."""
    return read_only_client is not None


def limit(client):
    """Limit plug-ins of this process to reading Placement by a client.

    client: SchedulerReportClient; None removes the limit.
    """
    global read_only_client
    read_only_client = client and report_methods.with_nova_methods(client)
