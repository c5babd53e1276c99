"""Builds the queries for allocation candidates from a request.

``target`` returns the host that a request is bound to, which the caller looks
up.  ``resource_requests`` returns the queries as ResourceRequests, which the
client writes in the form of Placement's microversion.
"""

import dataclasses
import re
import typing

import os_resource_classes as classes
from oslo_log import log as logging

from nova_sched import objects
from nova_sched.objects.fields import MalformedError
from nova_sched.rules.resources import devices
from nova_sched.rules.resources import flavors
from nova_sched.rules.resources import pinning
from nova_sched.rules.resources.flavor_image import FlavorImageRequirements
from nova_sched.rules.resources.flavor_image import get_set
from nova_sched.rules.resources.query import Group
from nova_sched.rules.resources.query import ResourceRequest

LOG = logging.getLogger(__name__)

_SUFFIX = re.compile(flavors.SUFFIX)

#: Hints that relate hosts to each other, for which a part of the candidates
#: does not suffice.
_RELATING_HINTS = ('group', 'same_host', 'different_host')
_MIB_PER_GIB = 1024


class Target(typing.NamedTuple):
    """The host that a request is bound to, by any of its names.

    host, node: None if it does not matter.  cell: uuid of the cell to search,
    or None.
    """

    host: str | None
    node: str | None
    cell: str | None

    @property
    def unknown(self):
        """The reason of the NoValidHost if there is no such host."""
        return f'No such host - host: {self.host} node: {self.node} '


def target(spec_obj):
    """Return the Target of a RequestSpec, or None if it names no host.

    Host and node are each the requested destination's, else the first of the
    forced ones.
    """
    destination = spec_obj.requested_destination
    host = ((destination and destination.host)
            or _first(spec_obj.force_hosts))
    node = ((destination and destination.node)
            or _first(spec_obj.force_nodes))
    if not (host or node):
        return None
    cell = destination and destination.cell
    return Target(host, node, cell.uuid if cell else None)


def resource_requests(spec_obj, *, max_results, fallback_pcpu_query=True,
                      target_node=None):
    """Return the queries for a RequestSpec: one or two ResourceRequests.

    max_results: limit of the number of candidates.
    fallback_pcpu_query: whether a second query asks for dedicated CPUs as
        VCPU, for hosts that do not report PCPU.
    target_node: uuid of the compute node that ``target`` names; None if it
        names several, or there is no target.
    Raises InvalidInput if flavor and image contradict each other, or if a
    request group is invalid.
    """
    requirements = FlavorImageRequirements(spec_obj)
    base = _base_request(spec_obj, requirements)
    base.groups[''].in_tree = target_node
    if not _needs_all(spec_obj, target_node):
        base.limit = max_results
    standard = _standard_amounts(spec_obj, base)
    _drop_empty_groups(base)
    _default_group_policy(base, spec_obj)
    pins = pinning.of(requirements)
    requests = [_with_amounts(base, standard, pins)]
    if pins.amounts and fallback_pcpu_query:
        unpinned = _with_amounts(base, standard, pinning.NONE)
        if unpinned not in requests:
            requests.append(unpinned)
    return requests


def _first(names):
    return names[0] if names else None


def _needs_all(spec_obj, target_node):
    """Return whether a limit could exclude the right candidates."""
    hints = spec_obj.scheduler_hints or {}
    return any(name in hints for name in _RELATING_HINTS) or (
        target_node is None and target(spec_obj) is not None)


def _base_request(spec_obj, requirements):
    """Return a ResourceRequest without limit and without the flavor's sizes.

    Its amounts may be zero.
    """
    groups = flavors.groups(requirements.extra_specs)
    groups[''].required.update(requirements.image.get('traits_required') or ())
    for index, group in enumerate(_request_groups(spec_obj)):
        _add_request_group(groups, index, group)
    devices.add(groups[''], requirements)
    _add_aggregates(groups[''], spec_obj.requested_destination)
    params = (get_set(spec_obj, 'request_level_params')
              or objects.RequestLevelParams())
    return ResourceRequest(
        groups, flavors.policy(requirements.extra_specs),
        same_subtree=list(get_set(params, 'same_subtree', ())),
        root_required=set(get_set(params, 'root_required', ())),
        root_forbidden=set(get_set(params, 'root_forbidden', ())))


def _request_groups(spec_obj):
    return get_set(spec_obj, 'requested_resources', ())


def _add_request_group(groups, index, requested):
    """Add the RequestGroup of a port or a device, under its own name."""
    suffix = get_set(requested, 'requester_id', '')
    group = Group(
        resources=dict(get_set(requested, 'resources', {})),
        required=set(get_set(requested, 'required_traits', ())),
        forbidden=set(get_set(requested, 'forbidden_traits', ())),
        member_of=list(get_set(requested, 'aggregates', ())),
        forbidden_aggregates=set(
            get_set(requested, 'forbidden_aggregates', ())),
        in_tree=requested.in_tree)
    if not _SUFFIX.fullmatch(suffix):
        must = 'must be 1 to 64 letters, digits, - and _'
    elif suffix in groups:
        must = 'must name one group alone, of the request or the flavor'
    elif not group:
        must = 'must name a group that asks for something of its provider'
    else:
        groups[suffix] = group
        return
    raise MalformedError(suffix, must, 'requested_resources', index,
                         'requester_id').as_invalid_input()


def _add_aggregates(group, destination):
    """Add the aggregates of a Destination, which may be None."""
    if destination is not None:
        group.member_of.extend(
            uuids.split(',') for uuids in destination.aggregates or ())
        group.forbidden_aggregates.update(
            destination.forbidden_aggregates or ())


def _standard_amounts(spec_obj, request):
    """Return the flavor's sizes in classes that no group mentions: dict."""
    mentioned = {name for group in request.groups.values()
                 for name in group.resources}
    flavor = spec_obj.flavor
    root_gb = 0 if spec_obj.is_bfv else flavor.root_gb
    amounts = {
        classes.VCPU: flavor.vcpus,
        classes.MEMORY_MB: flavor.memory_mb,
        classes.DISK_GB: (root_gb + flavor.ephemeral_gb
                          + -(-flavor.swap // _MIB_PER_GIB))}
    if classes.PCPU in mentioned:
        mentioned.add(classes.VCPU)
    return {name: amount for name, amount in amounts.items()
            if name not in mentioned}


def _drop_empty_groups(request):
    """Drop amounts of zero, and then empty groups."""
    for group in request.groups.values():
        group.drop_zeros()
    request.groups = {
        suffix: group for suffix, group in request.groups.items()
        if group or not suffix}


def _default_group_policy(request, spec_obj):
    """Warn of a missing group policy, and set one for groups of ports."""
    suffixes = request.groups.keys() - {''}
    if request.group_policy is not None or len(suffixes) < 2:
        return
    LOG.warning('There is more than one numbered request group in the '
                'allocation candidate query but the flavor did not specify '
                "any group policy. Set its extra spec group_policy to 'none' "
                "(groups may share a provider) or 'isolate'.")
    of_flavor = suffixes - {group.requester_id
                            for group in _request_groups(spec_obj)}
    if len(of_flavor) < 2:
        LOG.info('At least one numbered request group is defined outside of '
                 "the flavor: its group policy defaults to 'none'.")
        request.group_policy = 'none'


def _with_amounts(request, standard, pins):
    """Return a ResourceRequest with amounts of CPUs, memory and disk.

    standard: the flavor's sizes.  pins: Pins, which take precedence.
    """
    group = request.groups['']
    if classes.PCPU in pins.amounts:
        standard = {name: amount for name, amount in standard.items()
                    if name != classes.VCPU}
    completed = dataclasses.replace(
        group, resources={**standard, **group.resources, **pins.amounts},
        required=group.required | pins.required,
        forbidden=group.forbidden | pins.forbidden)
    completed.drop_zeros()
    return dataclasses.replace(
        request, groups={**request.groups, '': completed})
