"""All built-in filters and weighers, configured in several ways."""

from nova_sched import exception
from nova_sched.plugins import loading as plugins
from nova_sched.rules import attestation
from nova_sched.scheduler.filters.trusted_filter import TrustedFilter
from tests.builders.rules import a_conf
from tests.properties.requests import ISOLATED_IMAGE

#: Errors that a rule may raise for a senseless request or host.
ERRORS = (exception.InvalidInput, exception.ComputeHostMetricNotFound)

_ISOLATED = {'isolated_images': [ISOLATED_IMAGE],
             'isolated_hosts': ['host0', 'host1']}
#: Options with which each rule has an effect, as of ``a_conf``.
OPTIONS = ({}, {
    **_ISOLATED, 'max_io_ops_per_host': 2, 'max_instances_per_host': 3,
    'image_props_weight_multiplier': 1.0,
    'image_props_weight_setting': ['os_type=2', 'hw_vm_mode=-0.5'],
    'image_properties_default_architecture': 'x86_64',
    'soft_affinity_weight_multiplier': -2.5, 'host_subset_size': 3,
    'shuffle_best_same_weighed_hosts': True,
    'DEFAULT__default_availability_zone': 'z1',
    'compute__packing_host_numa_cells_allocation_strategy': True,
    'metrics__weight_setting': ['cpu.percent=1.5', 'load=-1'],
    'metrics__required': False,
}, {
    **_ISOLATED, 'restrict_isolated_hosts_to_isolated_images': False,
    'aggregate_image_properties_isolation_namespace': 'hw',
    'aggregate_image_properties_isolation_separator': '_',
    'image_props_weight_multiplier': -1.0,
    'num_instances_weight_multiplier': 1.0,
    'metrics__weight_setting': ['load=1']})

_LEVELS = {'node0': 'trusted', 'node1': 'untrusted', 'node2': 'trusted'}


def named(rules):
    """{name of its class: rule}"""
    return {type(rule).__name__: rule for rule in rules}


def attested(filters):
    """The filters; TrustedFilter with a server that answers."""
    for rule in filters:
        if isinstance(rule, TrustedFilter):
            rule.levels = attestation.TrustLevels(lambda nodes: [
                {'host_name': name, 'trust_lvl': level,
                 'vtime': '2023-11-14T22:13:00Z'}
                for name, level in _LEVELS.items()], 60,
                lambda: 1_700_000_000.0)
    return filters


def _made(options):
    conf = a_conf(**options)
    return (attested([plugins.make_filter(cls, conf)
                      for cls in plugins.all_filters()]),
            [plugins.make_weigher(cls, conf)
             for cls in plugins.all_weighers()])


#: One (filters, weighers) for each of OPTIONS.
CONFIGURED = [_made(options) for options in OPTIONS]


def outcome(ask, *args):
    """The result of ``ask(*args)``, or the class if it raises one of ERRORS.
    """
    try:
        return ask(*args)
    except ERRORS as exc:
        return type(exc)
