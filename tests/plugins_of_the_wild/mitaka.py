"""Mitaka: a RequestSpec, hints and aggregates."""

import nova.conf
from nova.i18n import _
from nova.scheduler import filters
from nova.scheduler.filters import utils
from oslo_log import log as logging

LOG = logging.getLogger(__name__)
CONF = nova.conf.CONF


class RackFilter(filters.BaseHostFilter):
    """Passes hosts of the rack in a hint, by their aggregates."""

    run_filter_once_per_request = True

    def host_passes(self, host_state, spec_obj):
        rack = spec_obj.get_scheduler_hint('rack')
        if not rack:
            return True
        found = utils.aggregate_values_from_key(host_state, 'rack')
        if rack not in found:
            LOG.debug(_('%(host)s is in %(found)s'),
                      {'host': host_state.host, 'found': found})
            return False
        return True
