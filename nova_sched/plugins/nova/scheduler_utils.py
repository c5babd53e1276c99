"""As ``nova.scheduler.utils``: what plug-ins and drivers share.

Functions that have got arguments from release to release take those of all.
"""

import numpy as np
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.plugins.nova.conf import CONF
from nova_sched.rules import aggregates
from nova_sched.scheduler import utils

LOG = logging.getLogger(__name__)

ResourceRequest = utils.ResourceRequest


def resources_from_request_spec(*args, spec_obj=None, **kwargs):
    """What a RequestSpec asks Placement for: ResourceRequest.

    It is the only argument, as in Queens, or the second one.
    Raises InvalidInput if flavor and image contradict each other.
    """
    spec_obj = spec_obj or args[0 if len(args) == 1 else 1]
    first, *_ = utils.resource_requests(spec_obj, max_results=None)
    return first


def get_weight_multiplier(host_state, multiplier_name, multiplier_config):
    """A weigher's multiplier for a host: float.

    The least that its aggregates give under that name; the one of the
    configuration where they give none.
    """
    return float(np.ravel(aggregates.numbers(
        host_state.block(), multiplier_name, multiplier_config, float,
        "Could not decode '%(key)s' weight multiplier: %(error)s"))[0])


def request_is_rebuild(spec_obj):
    """Whether an instance is rebuilt on the host that it is on."""
    return spec_obj is not None and spec_obj.is_rebuild


def claim_resources(ctx, client, spec_obj, instance_uuid, alloc_req,
                    allocation_request_version=None,
                    consumer_generation=None):
    """Have an instance hold an allocation request: whether it does.

    client: SchedulerReportClient, which finds the generation of the consumer
        itself.  A rebuild holds what it needs.
    Raises AllocationUpdateFailed when something else claims for it.
    """
    if request_is_rebuild(spec_obj):
        return True
    return client.claim_resources(
        ctx, instance_uuid, alloc_req, spec_obj.project_id,
        spec_obj.user_id or ctx.user_id, allocation_request_version)


def validate_filter(filter):
    """Whether the filter of that class name is enabled."""
    return filter in config.enabled_filters(CONF)


def validate_weigher(weigher):
    """Whether a weigher runs, by its class path as of ``weight_classes``.

    With ``all_weighers`` among these, each of them does.
    """
    enabled = CONF.filter_scheduler.weight_classes
    return weigher in enabled or any(
        path.endswith('.weights.all_weighers') for path in enabled)


def parse_options(opts, sep='=', converter=str, name=''):
    """The texts ``key=value`` of an option: list of (key, value).

    converter: makes the value of its text. What cannot be read is left out,
    with a warning that has the option's name.
    """
    found = []
    for text in opts:
        key, separator, value = text.partition(sep)
        try:
            if not (key and separator):
                raise ValueError(f'no {sep} behind a name')
            found.append((key, converter(value)))
        except ValueError as error:
            LOG.warning('Option %(name)s: %(text)r is left out: %(error)s',
                        {'name': name, 'text': text, 'error': error})
    return found


def __getattr__(name):
    raise AttributeError(
        f"nova.scheduler.utils.{name} is not offered here; 'Drivers' in "
        f'doc/source/plugins.rst says what is')
