"""As ``nova.scheduler.utils``: functions for plug-ins and drivers.

Each function takes the arguments of all releases.
"""

import collections
import copy

import numpy as np
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import objects
from nova_sched.compat.nova import exception
from nova_sched.compat.nova.conf import CONF
from nova_sched.objects import base
from nova_sched.rules import aggregates
from nova_sched.scheduler import utils

LOG = logging.getLogger(__name__)

#: Name that is not offered -> the reason, for its error text.
_INSTEAD = {
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


def validate_filter(filter):
    """Return whether the filter of that class name is enabled."""
    return filter in config.enabled_filters(CONF)


def validate_weigher(weigher):
    """Return whether ``weight_classes`` enables a weigher, by class path.

    ``all_weighers`` enables every weigher.
    """
    enabled = CONF.filter_scheduler.weight_classes
    return weigher in enabled or any(
        path.endswith('.weights.all_weighers') for path in enabled)


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


def build_request_spec(*args, ctxt=None, image=None, instances=None,
                       instance_type=None, flavor=None):
    """Return the request_spec of releases before Mitaka: dict of plain values.

    args: image, instances (list) and flavor, after a context until Mitaka.
    The flavor is that of the first instance, unless it is given.
    """
    if args and not (len(args) > 1 and isinstance(args[1], list)):
        args = args[1:]     # without the context
    image, instances, flavor = (*args, *(
        image, instances, flavor or instance_type)[len(args):])
    first = instances[0]
    return {
        'image': _plain(image or {}), 'num_instances': len(instances),
        'instance_properties': _plain(first),
        'instance_type': _plain(flavor or first['flavor'])}


def _plain(value):
    return value.flat() if isinstance(value, base.NovaObject) else (
        copy.deepcopy(value))


def build_filter_properties(scheduler_hints, forced_host, forced_node,
                            instance_type):
    """Return the filter_properties of releases before Mitaka: dict."""
    return {'scheduler_hints': scheduler_hints,
            'instance_type': instance_type,
            **({'force_hosts': [forced_host]} if forced_host else {}),
            **({'force_nodes': [forced_node]} if forced_node else {})}


def populate_retry(filter_properties, instance_uuid):
    """Count an attempt in ``retry``.

    Without retries (max_attempts 1, forced hosts or nodes) nothing happens.
    Raises MaxRetriesExceeded after [scheduler] max_attempts.
    """
    most = CONF.scheduler.max_attempts
    if most == 1 or filter_properties.get('force_hosts') or (
            filter_properties.get('force_nodes')):
        return
    retry = filter_properties.setdefault(
        'retry', {'num_attempts': 0, 'hosts': []})
    retry['num_attempts'] += 1
    if retry['num_attempts'] > most:
        raise exception.MaxRetriesExceeded(reason=(
            f'Instance {instance_uuid} was tried {most} times, which is '
            '[scheduler] max_attempts.'))


def populate_filter_properties(filter_properties, host_state):
    """Add a host to the retries, and set its limits.

    host_state: HostState or Selection of the host, or a Selection as a dict.
    """
    host = (host_state if isinstance(host_state, dict) else
            host_state.to_dict() if isinstance(host_state, objects.Selection)
            else {name: getattr(host_state, name)
                  for name in ('host', 'nodename', 'limits')})
    retry = filter_properties.get('retry')
    if retry:
        retry['hosts'].append([host['host'], host['nodename']])
    filter_properties['limits'] = dict(host['limits'] or {})


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
