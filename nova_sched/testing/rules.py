"""Filters and weighers for tests, configured as the service does."""

from nova_sched import conf as config
from nova_sched import nova_compat
from nova_sched import weights as base_weights
from nova_sched.testing import request_builders


def a_conf(**options):
    """Return a configuration without files.

    options: of [filter_scheduler]; options of other groups are written as
    ``group__option``, of [DEFAULT] as ``DEFAULT__option``.
    """
    conf = config.new_conf([], [])
    for name, value in options.items():
        group, _, option = name.rpartition('__')
        group = group or 'filter_scheduler'
        conf.set_override(option, value,
                          None if group == 'DEFAULT' else group)
    return conf


def configured(cls, **options):
    """Return a filter or weigher with these options; see a_conf."""
    rule = cls()
    rule.configure(a_conf(**options))
    return rule


def weights(weigher, block, spec_obj=None):
    """Return the weights of a HostBlock's hosts, in order, by one weigher.

    spec_obj: by default a small request.
    """
    weighed = base_weights.weigh(
        nova_compat.loaded().adapted_weighers([weigher]), block,
        spec_obj or request_builders.a_request())
    by_row = dict(zip(weighed.rows.tolist(), weighed.weights.tolist(),
                      strict=True))
    return [by_row[row] for row in block.rows.tolist()]


def survivors(rule, block, spec_obj):
    """Return the names of the hosts in a HostBlock that pass a filter."""
    [adapted] = nova_compat.loaded().adapted_filters([rule])
    return block.where(adapted.keep(block, spec_obj)).objects('host')
