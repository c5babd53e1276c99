"""[pci]: the one option of it that requests by hand are made with."""

from oslo_config import cfg

GROUP = 'pci'
HELP = 'The part of the PCI options that requests by hand are made with.'

OPTS = [
    cfg.MultiStrOpt(
        'alias', default=[],
        deprecated_name='pci_alias', deprecated_group='DEFAULT',
        help="""
A name for PCI devices, as a JSON object, for nova-api and nova-compute. Of
this service the commands "request plan" and "request call" read it, for
flavors with the extra spec pci_passthrough:alias. Several of one name are
alternatives.
"""),
]
