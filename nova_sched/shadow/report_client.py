"""A shadow's client of Placement: what is listed, beside what is copied."""

from nova_sched import exception
from nova_sched.dry_run import read_only_placement
from nova_sched.dry_run.copied_candidates import compare_copy
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.placement.mirror import mirror
from nova_sched.scheduler.client import report


class ComparingReportClient(read_only_placement.ReadOnlyReportClient):
    """A read-only client that compares a copy with Placement's listing.

    Where there is a copy of what Placement knows, what that offers is
    compared with the listing, and not used.

    conf: ConfigOpts.  placement: ReadOnlyPlacement.
    comparison: the CopyComparison of the candidates fetched last; None if the
        copy could not tell.
    """

    def __init__(self, conf, placement):
        super().__init__(conf, placement)
        self._conf, self.comparison = conf, None

    def mirrored(self, freed, answers=None, count_claims=None):
        """As of SchedulerReportClient."""
        # Its questions are no part of a request: they have a connection of
        # their own.
        self._mirror = mirror.PlacementMirror(
            read_only_placement.ReadOnlyPlacement(self._conf), freed, answers)
        return self._mirror

    def candidates(self, queries, context):
        """As of SchedulerReportClient; NoCandidates if it is too slow."""
        copied = report.SchedulerReportClient.copied_candidates(
            self, queries)
        try:
            found = super().candidates(queries, context)
        except exception.PlacementUnavailable as exc:
            found = NoCandidates(str(exc))
        self.comparison = copied and compare_copy(
            copied, found, self._conf.scheduler.max_placement_results)
        return found
