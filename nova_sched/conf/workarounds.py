"""[workarounds]: switches for unusual situations."""

from oslo_config import cfg

GROUP = 'workarounds'
HELP = 'Switches for unusual situations; leave them unset otherwise.'

OPTS = [
    cfg.BoolOpt('disable_fallback_pcpu_query', default=False, help="""
Whether Placement is queried only once, with PCPU, for requests with dedicated
CPUs. Turn it on if every compute host reports PCPU (Train and newer): it saves
the second query, for hosts that report only VCPU.
"""),
    cfg.BoolOpt(
        'disable_compute_service_check_for_ffu', default=False, help="""
Whether the service starts although compute services are too old. Only for
upgrades that skip releases, while the compute services are stopped.
"""),
]
