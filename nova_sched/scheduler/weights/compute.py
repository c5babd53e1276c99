"""BuildFailureWeigher: the fewer builds failed lately, the better."""

from nova_sched.scheduler import weights


class BuildFailureWeigher(weights.ColumnWeigher):
    """Builds that failed on the host since the last one that succeeded.

    The multiplier is set as a positive number and counts against the host.
    """

    multiplier_name = 'build_failure_weight_multiplier'
    inputs = ('failed_builds',)
    sign = -1.0

    def column(self, hosts, spec_obj):
        return hosts.failed_builds
