"""[pci]: the option for PCI devices in requests of the commands."""

from oslo_config import cfg

GROUP = 'pci'
HELP = 'The option for PCI devices in requests of the commands.'

OPTS = [
    cfg.MultiStrOpt(
        'alias', default=[], help="""
A name for PCI devices, as a JSON object, for nova-api and nova-compute. The
commands "request plan" and "request call" read it for flavors with the extra
spec pci_passthrough:alias. Several aliases with the same name are
alternatives.
"""),
]
