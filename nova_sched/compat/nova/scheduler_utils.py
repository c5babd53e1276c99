"""As ``nova.scheduler.utils``: functions for plug-ins and drivers.

Each function takes the arguments of all releases.
"""

import collections

import numpy as np
from oslo_log import log as logging

from nova_sched import objects
from nova_sched.rules import aggregates
from nova_sched.scheduler import utils

LOG = logging.getLogger(__name__)

#: Name that is not offered -> the reason, for its error text.
_INSTEAD = {
    'populate_retry': ', because the caller counts the attempts',
    'setup_instance_group': ', because spec_obj.instance_group is there',
    'set_vm_state_and_notify':
        ', because the caller does so; raise nova.exception.NoValidHost'}

ResourceRequest = utils.ResourceRequest


def resources_from_request_spec(*args, spec_obj=None, **kwargs):
    """Return the query of a RequestSpec for Placement: ResourceRequest.

    spec_obj: the only argument, as in Queens, or the second argument.
    Raises InvalidInput if flavor and image contradict each other.
    """
    spec_obj = spec_obj or args[0 if len(args) == 1 else 1]
    first, *_ = utils.resource_requests(spec_obj, max_results=None)
    return first


def get_weight_multiplier(host_state, multiplier_name, multiplier_config):
    """Return a weigher's multiplier for a host: float.

    The least value of its aggregates under that name; without any, the value
    of the configuration.
    """
    return float(np.ravel(aggregates.numbers(
        host_state.block(), multiplier_name, multiplier_config, float,
        "Could not decode '%(key)s' weight multiplier: %(error)s"))[0])


def request_is_rebuild(spec_obj):
    """Return whether a request rebuilds an instance on its host."""
    return spec_obj is not None and spec_obj.is_rebuild


def claim_resources(ctx, client, spec_obj, instance_uuid, alloc_req,
                    allocation_request_version=None,
                    consumer_generation=None):
    """Claim an allocation request for an instance: whether it succeeds.

    A rebuild needs no claim.
    client: SchedulerReportClient, which queries the consumer's generation.
    Raises AllocationUpdateFailed when another service claims for the instance.
    """
    if request_is_rebuild(spec_obj):
        return True
    return client.claim_resources(
        ctx, instance_uuid, alloc_req, spec_obj.project_id,
        spec_obj.user_id or ctx.user_id, allocation_request_version)


def parse_options(opts, sep='=', converter=str, name=''):
    """Return the texts ``key=value`` of an option: list of (key, value).

    converter: function of the text of a value.
    Invalid texts are left out with a warning, which has the option's name.
    """
    found = []
    for text in opts:
        key, separator, value = text.partition(sep)
        try:
            if not (key and separator):
                raise ValueError(f'no {sep} after a name')
            found.append((key, converter(value)))
        except ValueError as error:
            LOG.warning('Option %(name)s: %(text)r is left out: %(error)s',
                        {'name': name, 'text': text, 'error': error})
    return found


def resources_from_flavor(instance, flavor):
    """Return the resources of an instance of a flavor: {class: amount}.

    An instance with an empty ``image_ref`` boots from a volume, and needs no
    root disk.  Raises InvalidInput.
    """
    requested = resources_from_request_spec(objects.RequestSpec(
        flavor=flavor, is_bfv=instance['image_ref'] == '',
        image=objects.ImageMeta(properties=objects.ImageMetaProps())))
    amounts = collections.Counter()
    for group in requested.groups.values():
        amounts.update(group.resources)
    return dict(amounts)


def __getattr__(name):
    raise AttributeError(
        f'nova.scheduler.utils.{name} is not offered here'
        f'{_INSTEAD.get(name, "")}; '"'Drivers' in "
        'doc/source/plugins.rst lists the names')
