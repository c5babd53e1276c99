"""BuildFailureWeigher: prefers hosts with few failed builds."""

from nova_sched.scheduler import weights


class BuildFailureWeigher(weights.BaseInputWeigher):
    """Weighs the builds that failed since the last successful build.

    A positive multiplier prefers hosts with few failures.
    """

    multiplier_name = 'build_failure_weight_multiplier'
    inputs = ('failed_builds',)
    sign = -1.0
