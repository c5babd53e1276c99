"""PciPassthroughFilter: free PCI devices of the kinds asked for."""

import numpy as np
from oslo_log import log as logging

from nova_sched.hardware.pci import devices as pci_devices
from nova_sched.rules import offered
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)


class PciPassthroughFilter(filters.ColumnFilter):
    """Hosts with enough free devices for all PCI requests together.

    Where the devices are on the host is the NUMATopologyFilter's business.
    """

    def mask(self, hosts, spec_obj):
        requests = _requests(spec_obj)
        if not requests:
            return np.ones(len(hosts), dtype=np.bool_)

        def judge(values, mappings):
            pools, = values
            return [pools is not None
                    and pci_devices.fits(pools, requests, mapping)
                    for mapping in mappings]

        passes = offered.narrow(type(self).__name__, hosts, ['pci_stats'],
                                requests, judge)
        if LOG.isEnabledFor(logging.DEBUG):
            for state in hosts.where(~passes).states():
                LOG.debug("%(host)s doesn't have the required PCI devices "
                          '(%(requests)s)',
                          {'host': state, 'requests': requests})
        return passes

    def reason(self, hosts, spec_obj):
        found = [pools for pools in hosts.objects('pci_stats')
                 if pools is not None]
        texts, short = [], False
        for request in _requests(spec_obj):
            most = max((pci_devices.free_for(pools, request)
                        for pools in found), default=0)
            short |= most < request.count
            texts.append(f'need {request.count} of {_described(request)}, '
                         f'most free {most}')
        if not short:
            texts.append('never all of them on one host, or not at the '
                         'providers that Placement names')
        return '; '.join(texts)


def _requests(spec_obj):
    found = spec_obj.pci_requests
    return found.requests if found is not None else []


def _described(request):
    return phrases.shortened(' or '.join(
        ' '.join(f'{key}={value}' for key, value in sorted(spec.items()))
        for spec in request.spec) or 'nothing', 120)
