"""A scheduler that decides what others are asked, without effect."""

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import context
from nova_sched import rpc
from nova_sched.dry_run import decider
from nova_sched.dry_run import read_only_placement
from nova_sched.shadow import report_client

LOG = logging.getLogger(__name__)


class Decider(decider.Decider):
    """A scheduler that answers calls to others; for use by one thread.

    conf: ConfigOpts.
    placement: read_only_placement.ReadOnlyPlacement, or None.
    """

    def __init__(self, conf, placement):
        self._client = report_client.ComparingReportClient(conf, placement)
        super().__init__(conf, self._client)

    def start(self):
        """Start the driver, and the copy of what Placement knows.

        Raises DatabaseUnavailable.
        """
        super().start()
        self._candidates.start()

    def stop(self):
        """Let go of what ``start`` acquired."""
        self._candidates.stop()
        super().stop()

    @property
    def copy_comparison(self):
        """The CopyComparison of the last call; None without one."""
        return self._client.comparison

    def decide(self, call):
        """Decide a tap.Call of select_destinations.

        Returns its closed Decision, also for a call that fails.
        """
        caller = rpc.ContextSerializer().deserialize_context(call.context)
        self._client.comparison = None
        rehearsed = super().decide(caller, call.args)
        record = rehearsed.record
        if rehearsed.error is not None and not rehearsed.is_expected:
            LOG.error('Request %(id)s cannot be decided here: %(error)r',
                      {'id': record.request_id, 'error': rehearsed.error},
                      exc_info=rehearsed.error)
        # Replaces the caller's context, and its token, in this thread.
        context.RequestContext(request_id=record.request_id)
        return record


def connect_placement(conf):
    """Return a ReadOnlyPlacement, or None where none is configured."""
    if not config.placement_configured(conf):
        return None
    return read_only_placement.ReadOnlyPlacement(conf)
