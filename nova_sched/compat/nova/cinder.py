"""As ``nova.volume.cinder``: a client of Cinder with a user's token.

Raises ImportError at once where python-cinderclient is not installed.
"""

import importlib

from keystoneauth1 import loading
from oslo_config import cfg

from nova_sched.compat.nova import service_auth
from nova_sched.compat.nova.conf import CONF

try:
    _client = importlib.import_module('cinderclient.client')
except ImportError as error:
    raise ImportError(
        'nova.volume.cinder is not offered by nova_sched without '
        "python-cinderclient: install that for this service's Python"
    ) from error

_GROUP = 'cinder'

loading.register_session_conf_options(CONF, _GROUP)
CONF.register_opts([
    cfg.StrOpt('catalog_info', default='volumev3::publicURL'),
    cfg.StrOpt('endpoint_template'),
    cfg.StrOpt('os_region_name'),
    cfg.IntOpt('http_retries', default=3, min=0),
], _GROUP)


def cinderclient(context, microversion=None, skip_version_check=False,
                 check_only=False):
    """Return a cinderclient.client.Client with the token of a context.

    microversion: such as '3.44'; None for '3.0'.
    skip_version_check, check_only: ignored; Cinder refuses unknown
        microversions.
    """
    options = CONF.cinder
    service_type, service_name, interface = options.catalog_info.split(':')
    template = options.endpoint_template
    return _client.Client(
        microversion or '3.0',
        session=loading.load_session_from_conf_options(CONF, _GROUP),
        auth=service_auth.get_auth_plugin(context),
        endpoint_override=template and template % context.to_dict(),
        connect_retries=options.http_retries,
        global_request_id=context.global_id, service_type=service_type,
        service_name=service_name or None, interface=interface,
        region_name=options.os_region_name)
