"""An operator's plug-ins, as they are written for Nova.

Licensed software runs on hosts whose aggregates have a licence for it; among
the others, such hosts come last.
"""

from nova import exception
import nova.conf
from nova.i18n import _
from nova.scheduler import filters
from nova.scheduler import weights
from nova.scheduler.filters import num_instances_filter
from nova.scheduler.filters import utils
from oslo_config import cfg
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

CONF = nova.conf.CONF
CONF.register_opts([
    cfg.StrOpt('metadata_key', default='licences',
               help='Key of aggregate metadata that lists licences.'),
    cfg.IntOpt('spare_ram_mb', default=512,
               help='Memory to keep free on each host, in MB.'),
    cfg.FloatOpt('weight_multiplier', default=1000.0,
                 help='How much to keep such hosts free.')], 'licences')


class LicenceMissing(exception.NovaException):
    msg_fmt = _('There is no licence for %(product)s.')


def _licences(host_state):
    key = CONF.licences.metadata_key
    return utils.aggregate_metadata_get_by_host(host_state, key).get(
        key, set())


class LicenceFilter(filters.BaseHostFilter):
    """Hosts with a licence for what the image asks for."""

    run_filter_once_per_request = True

    def host_passes(self, host_state, spec_obj):
        product = spec_obj.flavor.extra_specs.get('licence:product')
        if not product:
            return True
        if product == 'none at all':
            raise LicenceMissing(product=product)
        found = _licences(host_state)
        LOG.debug('%(host)s has licences %(found)s',
                  {'host': host_state.host, 'found': found})
        return product in found


class SpareRamFilter(num_instances_filter.NumInstancesFilter):
    """As NumInstancesFilter, on hosts that keep some memory free."""

    def host_passes(self, host_state, spec_obj):
        left = host_state.free_ram_mb - spec_obj.memory_mb
        return left >= CONF.licences.spare_ram_mb and (
            super().host_passes(host_state, spec_obj))


class LicenceWeigher(weights.BaseHostWeigher):
    """Keeps hosts with licences free."""

    minval = 0

    def weight_multiplier(self, host_state):
        return -1 * CONF.licences.weight_multiplier

    def _weigh_object(self, host_state, weight_properties):
        return len(_licences(host_state))
