"""[filter_scheduler], second part: the weighers and their multipliers."""

from oslo_config import cfg

from nova_sched.conf import types

GROUP = 'filter_scheduler'


def _multiplier(name, default, help_text):
    return cfg.FloatOpt(name, default=default, help=help_text)


OPTS = [
    cfg.ListOpt(
        'weight_classes', default=['nova.scheduler.weights.all_weighers'],
        help="""
The weighers that rank the hosts: dotted paths of weigher classes, or of
functions that return weigher classes. The default stands for all built-in
weighers. List classes one by one to leave some out, or add one of your own.
Class paths of Nova's weighers stand for the weighers of the same name here.
"""),
    _multiplier('ram_weight_multiplier', 1.0, """
How much free RAM counts. Positive spreads instances over hosts, negative
fills hosts up, 0 ignores RAM.
"""),
    _multiplier('disk_weight_multiplier', 1.0, """
How much free disk counts. Positive spreads, negative fills up, 0 ignores it.
"""),
    _multiplier('cpu_weight_multiplier', 1.0, """
How much free virtual CPUs count. Positive spreads, negative fills up, 0
ignores them.
"""),
    _multiplier('io_ops_weight_multiplier', -1.0, """
How much instances being built or moved on a host count. Negative prefers
quiet hosts; positive prefers busy ones.
"""),
    types.at_least(0.0, 'pci_weight_multiplier', 1.0, """
How strongly hosts with PCI devices are kept for instances that want them.
"""),
    types.at_least(0.0, 'soft_affinity_weight_multiplier', 1.0, """
How strongly the members of a soft-affinity group attract each other. Raise
it when other weighers tear groups apart.
"""),
    types.at_least(0.0, 'soft_anti_affinity_weight_multiplier', 1.0, """
How strongly the members of a soft-anti-affinity group repel each other.
"""),
    _multiplier('build_failure_weight_multiplier', 1000000.0, """
How strongly hosts with recent build failures are avoided. The default puts
them last in any case; lower it if users cause failures that are not the
host's fault; 0 ignores failures.
"""),
    _multiplier('cross_cell_move_weight_multiplier', 1000000.0, """
How strongly a move stays in the instance's cell. A negative value prefers
other cells, which helps to empty one.
"""),
    _multiplier('hypervisor_version_weight_multiplier', 1.0, """
How strongly hosts with a newer hypervisor are preferred. Negative prefers
older ones. Set it to 0 where hypervisors of different types are mixed.
"""),
    _multiplier('num_instances_weight_multiplier', 0.0, """
How much the number of instances counts. Positive packs, negative spreads.
"""),
    _multiplier('image_props_weight_multiplier', 0.0, """
How strongly instances of similar images attract each other. Positive packs
them on the same hosts (fewer licensed hosts, for example), negative spreads
them; 0 turns the weigher off and costs nothing.
"""),
    cfg.ListOpt(
        'image_props_weight_setting', default=[],
        sample_default='os_distro=1,os_type=2',
        help="""
Which image properties count for image_props_weight_multiplier, and how much
each: property=weight pairs. Empty: all properties, with weight 1.
"""),
]
