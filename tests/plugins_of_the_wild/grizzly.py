"""Before Kilo: dicts, Nova's own copy of oslo.log, oslo with a dot."""

from nova.i18n import _
from nova.openstack.common import log as logging
from nova.scheduler import filters
from oslo.config import cfg

LOG = logging.getLogger(__name__)

CONF = cfg.CONF
CONF.register_opts([cfg.IntOpt('grizzly_reserved_mb', default=512,
                               help='Memory to leave to each host')])


class ReservedMemoryFilter(filters.BaseHostFilter):
    """Keeps some memory of each host free, except for paying tenants."""

    def host_passes(self, host_state, filter_properties):
        instance_type = filter_properties.get('instance_type')
        spec = filter_properties.get('request_spec', {})
        properties = spec.get('instance_properties', {})
        reserved = CONF.grizzly_reserved_mb
        if properties.get('project_id') == 'pays':
            reserved = 0
        left = host_state.free_ram_mb - instance_type['memory_mb']
        if left < reserved:
            LOG.debug(_('%(host)s has only %(left)d MB left'),
                      {'host': host_state, 'left': left})
            return False
        return True
