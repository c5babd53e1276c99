"""[metrics]: the metrics weigher and filter."""

from oslo_config import cfg

GROUP = 'metrics'
HELP = 'How MetricsWeigher and MetricsFilter use the metrics of hosts.'

OPTS = [
    cfg.FloatOpt(
        'weight_multiplier', default=1.0, help="""
How much the metrics count against the other weighers. Negative inverts.
"""),
    cfg.ListOpt(
        'weight_setting', default=[],
        sample_default='cpu.percent=-1.0,cpu.frequency=0.001',
        help="""
Which metrics count and how much: name=ratio pairs, summed up. Pairs that
cannot be read are left out with a warning. The compute hosts must be set to
report these metrics.
"""),
    cfg.BoolOpt(
        'required', default=True, help="""
Whether a host that lacks one of the metrics fails the request (true) or gets
weight_of_unavailable (false). With true, enable MetricsFilter too, which
leaves such hosts out.
"""),
    cfg.FloatOpt(
        'weight_of_unavailable', default=-10000.0, help="""
The raw weight of a host that lacks one of the metrics, when they are not
required. Keep it below what hosts reach with metrics.
"""),
]
