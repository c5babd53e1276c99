"""AvailabilityZoneFilter: hosts of the requested zone."""

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

_KEY = 'availability_zone'


class AvailabilityZoneFilter(filters.ColumnFilter):
    """Hosts of the requested availability zone; all if none is requested.

    A host's zones are the comma-separated values of the metadata key
    ``availability_zone`` of its aggregates, or else ``[DEFAULT]
    default_availability_zone``.
    """

    code = 'zone'
    logs_rejected = True
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def configure(self, conf):
        self.default_zone = conf.default_availability_zone

    def mask(self, hosts, spec_obj):
        zone = spec_obj.availability_zone
        if not zone:
            return np.ones(len(hosts), dtype=np.bool_)
        passes = hosts.evaluate(
            'aggregates', lambda aggregates: zone in self._zones(aggregates))
        for state in filters.rejected(LOG, hosts, passes):
            LOG.debug("Availability Zone '%(zone)s' requested. %(host)s "
                      'has AZs: %(zones)s',
                      {'zone': zone, 'host': state,
                       'zones': set(self._zones(state.aggregates))})
        return passes

    def _zones(self, aggregates):
        return (aggregate_values.split_values(aggregates, _KEY)
                or {self.default_zone})

    def reason(self, hosts, spec_obj):
        zones = phrases.distinct(hosts, 'aggregates', self._zones)
        return phrases.Reason(
            f"zone '{spec_obj.availability_zone}' requested",
            f'hosts are in {phrases.listed(zones)}')
