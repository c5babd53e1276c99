"""NUMATopologyFilter: hosts with NUMA cells that the guest's cells fit on."""

import numpy as np
from oslo_log import log as logging

from nova_sched.hardware.numa import guest as numa_guest
from nova_sched.hardware.numa.topology import Fitting
from nova_sched.hosts import budget
from nova_sched.rules import numa_phrases
from nova_sched.rules import offered
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: The columns that the fit depends on.
_COLUMNS = ('numa_topology', 'pci_stats', 'cpu_allocation_ratio',
            'ram_allocation_ratio')

_THREADS = 'need cores with several threads'


class NUMATopologyFilter(filters.ColumnFilter):
    """Hosts with NUMA cells that the guest's NUMA cells fit on.

    A fit considers CPUs, pinned or not, memory, page sizes, and the NUMA
    affinity of the request's PCI devices and networks.  A request that
    requires thread siblings needs a host with hyperthreading even if it has no
    NUMA topology.
    """

    code = 'numa'
    inputs = *_COLUMNS, 'uuid'
    logs_rejected = True

    def configure(self, conf):
        self._pack = conf.compute.packing_host_numa_cells_allocation_strategy

    def mask(self, hosts, spec_obj):
        passes = np.ones(len(hosts), dtype=np.bool_)
        if _requires_threads(spec_obj):
            passes &= hosts.evaluate('numa_topology', _may_have_threads)
            _log(hosts, ~passes, '%(host)s fails CPU policy requirements. '
                 'Host does not have hyperthreading or hyperthreading is '
                 "disabled, but 'require' threads policy was requested.")
        required = numa_guest.GuestRequirements.of(spec_obj)
        if required is None:
            return passes
        has_cells = hosts.evaluate('numa_topology', _has_cells)
        _log(hosts, passes & ~has_cells, '%(host)s, %(node)s fails NUMA '
             'topology requirements. No host NUMA topology while the '
             'instance specified one.')
        passes &= has_cells
        with_cells = hosts.where(passes)
        fits = self._fits(with_cells, required)
        _log(with_cells, ~fits, '%(host)s, %(node)s fails NUMA topology '
             'requirements. The instance does not fit on this host.')
        passes[passes] = fits
        return passes

    def _fits(self, hosts, required):
        """Return which of the hosts the guest fits on: bool (n,)."""
        given_up = []

        def judge(values, mappings):
            budget.check()
            topology, *key = values
            # Not cached: several mappings, because one changes the devices
            # for the next, and searches that log DEBUG lines.
            if (required.kind is None or len(mappings) != 1
                    or LOG.isEnabledFor(logging.DEBUG)):
                return self._verdicts(required, values, mappings, given_up)
            return [bool(topology.knowing(
                (required.kind, self._pack, *key),
                lambda: self._verdict(required, values, given_up)))]

        fits = offered.narrow(type(self).__name__, hosts, _COLUMNS,
                              required.device_requests, judge)
        if given_up:
            LOG.warning(
                'Gave up the search for host NUMA cells for a guest of '
                '%(guest)d cells on %(count)d kinds of hosts with up to '
                '%(cells)d cells; rejecting these hosts',
                {'guest': len(required.cells), 'count': len(given_up),
                 'cells': max(given_up)})
        return fits

    def _verdicts(self, required, values, mappings, given_up):
        """Return whether the guest fits with each of the mappings: list.

        given_up: list; the number of the host's cells is appended if the
            search is given up.
        """
        fitting = self._fitting(required, *values)
        verdicts = fitting.verdicts(mappings, budget.check)
        if fitting.is_given_up:
            given_up.append(len(fitting.topology.cells))
        return verdicts

    def _verdict(self, required, values, given_up):
        """Return whether the guest fits; None if the search is given up."""
        before = len(given_up)
        [fits] = self._verdicts(required, values, [None], given_up)
        return fits if len(given_up) == before else None

    def _fitting(self, required, topology, pools, cpu_ratio, ram_ratio):
        return Fitting(topology, required, pools, numa_guest.Limits(
            cpu_ratio, ram_ratio), self._pack)

    def limits(self, hosts, spec_obj):
        if spec_obj.numa_topology is None:
            return {}
        return {'numa_topology': numa_guest.limits_object(
            numa_guest.Limits(hosts.cpu_allocation_ratio.item(0),
                              hosts.ram_allocation_ratio.item(0)),
            numa_guest.network_metadata(spec_obj))}

    def reason(self, hosts, spec_obj):
        required = numa_guest.GuestRequirements.of(spec_obj)
        needs, some = [], hosts
        if _requires_threads(spec_obj):
            needs.append(_THREADS)
            some = hosts.where(hosts.evaluate('numa_topology',
                                           _may_have_threads))
        if required is not None:
            needs.append(numa_phrases.needed(required))
        if not len(some):
            text = f'{_THREADS}, hosts have none'
        elif required is None:
            text = 'the request has no NUMA topology any more'
        else:
            nearest = self._nearest(some, required)
            text = f'{needs[-1]}; ' + (
                'hosts have no NUMA topology' if nearest is None
                else numa_phrases.lacking(nearest))
        return phrases.Reason('; '.join(needs), text=text)

    def _nearest(self, hosts, required):
        """Return the Shortfall of the host that is closest to a fit.

        None if no host has a NUMA topology.
        """
        hosts = hosts.where(hosts.evaluate('numa_topology', _has_cells))
        kinds = dict.fromkeys(zip(*(hosts.objects(name) for name in _COLUMNS),
                                  strict=True))
        nearest = None
        for values in budget.checked(kinds):
            shortfall = self._fitting(required, *values).shortfall()
            if nearest is None or nearest < shortfall:
                nearest = shortfall
            if nearest.is_nearest:
                break
        return nearest


def _requires_threads(spec_obj):
    specs, image = spec_obj.flavor.extra_specs or {}, spec_obj.image_properties
    return 'dedicated' in (
        specs.get('hw:cpu_policy'), image.get('hw_cpu_policy')) and (
        'require' in (specs.get('hw:cpu_thread_policy'),
                      image.get('hw_cpu_thread_policy')))


def _has_cells(topology):
    return topology is not None and bool(topology.cells)


def _may_have_threads(topology):
    return not _has_cells(topology) or topology.has_threads


def _log(hosts, rejected, text):
    for state in filters.rejected(LOG, hosts, ~rejected):
        LOG.debug(text, {'host': state.host if '%(node)s' in text
                         else state, 'node': state.nodename})
