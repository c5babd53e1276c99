"""How far plug-ins reach by Nova's names: in a dry run they change nothing."""

from nova_sched.compat import report_methods

#: SchedulerReportClient that all have in place of one of their own; None
#: where plug-ins may claim, ask schedulers and send notifications.
only = None


def is_limited():
    """Return whether plug-ins may read only."""
    return only is not None


def limit(client):
    """Have plug-ins of this process read only, and Placement by this client.

    client: SchedulerReportClient; None: they may do all again.
    """
    global only
    only = client and report_methods.with_nova_methods(client)
