"""The parts of a request that no running rule reads: see ``readers.toml``."""

import re

from nova_sched import toml_files
from nova_sched.options import nearest
from nova_sched.rules import attributes
from nova_sched.rules.flavor_image import FlavorImageRequirements

_NUMA = 'NUMATopologyFilter'
_CAPABILITIES = 'ComputeCapabilitiesFilter'
_AGGREGATES = 'AggregateInstanceExtraSpecsFilter'
_QUERY = 'JsonFilter'

#: Kind of part -> name of the part -> its readers.
_READERS = toml_files.read('readers.toml', __package__)
#: Extra specs without a scope that others read.
_UNSCOPED = ('hide_hypervisor_id', 'group_policy')

#: Extra specs that only Placement reads.  Without Placement, _SIZES do not
#: count as unread: filters check the sizes of the flavor.
_OF_PLACEMENT = re.compile(
    '(?:trait|resources)[a-zA-Z0-9_-]*:.*|group_policy')
_SIZES = ('resources:VCPU', 'resources:MEMORY_MB', 'resources:DISK_GB')

#: Prefixes of extra specs that make NUMA cells; image properties have _ for :.
_CELLS = ('hw:numa_', 'hw:mem_page_size', 'hw:cpu_policy',
          'hw:cpu_thread_policy', 'hw:cpu_dedicated_mask', 'hw:cpu_realtime',
          'hw:emulator_threads_policy')
_CPUS = ('hw:cpu_', 'hw:emulator_')


def unread(spec_obj, ranker, hosts, asks_placement, aggregates=()):
    """Return the parts of a request that no rule reads, and why: sentences.

    ranker: scheduler.ranking.Ranker.  hosts: HostSnapshot.
    asks_placement: whether the candidates come from Placement.
    aggregates: all aggregates, objects.Aggregate.
    """
    request = _Request(spec_obj, ranker, hosts.block(), asks_placement)
    return [*request.sentences(), *_misspelt(aggregates, hosts)]


class _Request:
    """A request, and the rules that read it."""

    def __init__(self, spec_obj, ranker, hosts, asks_placement):
        self._spec_obj, self._hosts = spec_obj, hosts
        self._requirements = FlavorImageRequirements(spec_obj)
        self._asks_placement = asks_placement
        self._filters = {
            base.__name__: filter_ for filter_ in ranker.filters
            for base in type(getattr(filter_, 'rule', filter_)).__mro__}
        self._rules = self._filters.keys() | {
            base.__name__ for weigher in ranker.weighers
            for base in type(getattr(weigher, 'rule', weigher)).__mro__}
        self._plug_ins = ranker.has_plug_ins
        self._reads = 'Nothing reads' if not self._plug_ins else (
            "No rule of Nova's reads")

    def sentences(self):
        """Yield a sentence on each part that is not read."""
        for parts in (self._hints(), self._group(), self._extra_specs(),
                      self._image(), self._others()):
            for what, why in parts:
                yield f'{self._reads} {what}: {why}'

    def _off(self, *readers):
        """Return why nothing reads a part; None if one of its readers runs.

        None also without readers, for a part that others read.
        """
        if readers and self._rules.isdisjoint(readers):
            name = readers[0]
            if name.endswith('Weigher'):
                return (f'{name} does not run; name it in [filter_scheduler] '
                        'weight_classes')
            return f'{name} does not run; --enable {name} runs it in a plan'
        return None

    def _hints(self):
        for hint in self._spec_obj.scheduler_hints or {}:
            known, why = _READERS['hints'], None
            if hint in known:
                why = self._off(*known[hint])
            elif not self._plug_ins:
                why = _meant(hint, [name for name in known if known[name]]
                             ) or 'no filter has such a hint'
            if why:
                yield f'hint {hint}', why
        if _QUERY in self._filters:
            yield from self._variables()

    def _variables(self):
        """Yield the variables of the hint query that no host has."""
        for name in self._filters[_QUERY].inputs_for(self._spec_obj):
            if (' ' not in name and name != 'hints'
                    and attributes.column(self._hosts, name) is None):
                yield f'${name} in hint query', (
                    _meant(name, attributes.NAMES, '$')
                    or 'hosts have no such attribute')

    def _group(self):
        group = self._spec_obj.instance_group
        policy = group and group.policy
        if why := self._off(*_READERS['policies'].get(policy, ())):
            yield f'policy {policy} of the server group', why

    def _extra_specs(self):
        for key in self._requirements.extra_specs:
            if why := self._unread_spec(key):
                yield f'extra spec {key}', why

    def _unread_spec(self, key):
        """Return why nothing reads an extra spec; None if a rule may read it.
        """
        scope, colon, _ = key.partition(':')
        if _OF_PLACEMENT.fullmatch(key):
            if self._asks_placement or key in _SIZES:
                return None
            return 'Placement is not used'
        if not colon:
            return self._unread_unscoped(key)
        if key.startswith(_CELLS):
            # Placement counts dedicated CPUs.
            return (None if self._asks_placement and key.startswith(_CPUS)
                    else self._off(_NUMA))
        if key == 'hw:maxphysaddr_bits':
            return self._off(_CAPABILITIES)
        scopes = _READERS['scopes']
        if scope in scopes:
            return self._off(*scopes[scope])
        return None if self._plug_ins else (
            _meant(scope, scopes) or f'there is no scope {scope}')

    def _unread_unscoped(self, key):
        if key in _UNSCOPED or (
                _CAPABILITIES in self._rules
                and attributes.column(self._hosts, key) is not None):
            return None
        return self._off(_AGGREGATES)

    def _image(self):
        for name in self._requirements.image.flat():
            why, readers = None, _READERS['image_properties']
            if name in readers:
                why = self._off(*readers[name])
            elif name == 'traits_required' and not self._asks_placement:
                why = 'Placement is not used'
            elif (key := name.replace('_', ':', 1)).startswith(_CELLS):
                why = self._unread_spec(key)
            if why:
                yield f'image property {name}', why

    def _others(self):
        spec_obj = self._spec_obj
        devices = spec_obj.pci_requests
        if (devices and devices.requests
                and (why := self._off('PciPassthroughFilter'))):
            yield 'the requested PCI devices', why
        if (spec_obj.availability_zone and not self._asks_placement
                and (why := self._off('AvailabilityZoneFilter'))):
            yield f'availability zone {spec_obj.availability_zone}', why


def _meant(name, names, prefix=''):
    near = nearest.nearest(name, names)
    return near and f'did you mean {prefix}{near}?'


def _misspelt(aggregates, hosts):
    """Yield a sentence on each host of an aggregate that differs by case from
    an existing host.
    """
    known = dict(hosts.table.keys()).keys()
    by_lower = {name.lower(): name for name in known}
    for aggregate in aggregates:
        for name in aggregate.hosts:
            if name not in known and name.lower() in by_lower:
                yield (f'Aggregate {aggregate.name} has a host {name}, which '
                       f'is not {by_lower[name.lower()]}: names of hosts '
                       'differ by upper and lower case')
