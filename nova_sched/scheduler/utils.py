"""From a request to the queries that Placement is asked for candidates.

``target`` says which host a request is bound to; the caller looks it up.
``resource_requests`` makes the queries, as ResourceRequest objects that each
microversion of Placement gets in its own words.
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
from nova_sched.rules.resources.query import Group
from nova_sched.rules.resources.query import ResourceRequest
from nova_sched.rules.resources.wishes import Wishes
from nova_sched.rules.resources.wishes import given

LOG = logging.getLogger(__name__)

_SUFFIX = re.compile(flavors.SUFFIX)

#: Hints that relate hosts to each other: a part of them will not do.
_RELATING_HINTS = ('group', 'same_host', 'different_host')
_MIB_PER_GIB = 1024


class Target(typing.NamedTuple):
    """The host that a request is bound to, by any of its names.

    host, node: None if it does not matter.  cell: uuid of the cell to look
    in, or None.
    """

    host: str | None
    node: str | None
    cell: str | None

    @property
    def unknown(self):
        """The reason of the NoValidHost if there is no such host."""
        return f'No such host - host: {self.host} node: {self.node} '


def target(spec_obj):
    """The Target of a RequestSpec, or None if any host may do.

    Host and node are each the requested destination's, else the first that
    is forced.
    """
    wanted = spec_obj.requested_destination
    host = (wanted and wanted.host) or _first(spec_obj.force_hosts)
    node = (wanted and wanted.node) or _first(spec_obj.force_nodes)
    if not (host or node):
        return None
    cell = wanted and wanted.cell
    return Target(host, node, cell.uuid if cell else None)


def resource_requests(spec_obj, *, max_results, fallback_pcpu_query=True,
                      target_node=None):
    """The queries for a RequestSpec: one ResourceRequest, or two.

    max_results: most candidates to answer with.
    fallback_pcpu_query: whether dedicated CPUs are asked for a second time,
        as VCPU, for hosts that do not report PCPU.
    target_node: uuid of the compute node that ``target`` names; None if it
        names several, or there is no target.
    Raises InvalidInput if flavor and image contradict each other, or a
    request group is wrong.
    """
    wishes = Wishes(spec_obj)
    asked = _asked(spec_obj, wishes)
    asked.groups[''].in_tree = target_node
    if not _needs_all(spec_obj, target_node):
        asked.limit = max_results
    standard = _standard_amounts(spec_obj, asked)
    _settle_groups(asked, spec_obj)
    pins = pinning.of(wishes)
    requests = [_completed(asked, standard, pins)]
    if pins.amounts and fallback_pcpu_query:
        unpinned = _completed(asked, standard, pinning.NONE)
        if unpinned not in requests:
            requests.append(unpinned)
    return requests


def _first(names):
    return names[0] if names else None


def _needs_all(spec_obj, target_node):
    """Whether the right candidates may be missing from a part of them."""
    hints = spec_obj.scheduler_hints or {}
    return any(name in hints for name in _RELATING_HINTS) or (
        target_node is None and target(spec_obj) is not None)


def _asked(spec_obj, wishes):
    """All but the limit and the flavor's sizes: a ResourceRequest.

    Amounts may be zero.
    """
    groups = flavors.groups(wishes.extra_specs)
    groups[''].required.update(wishes.image.get('traits_required') or ())
    for index, group in enumerate(_requested(spec_obj)):
        _add_requested(groups, index, group)
    devices.add(groups[''], wishes)
    _add_aggregates(groups[''], spec_obj.requested_destination)
    params = (given(spec_obj, 'request_level_params')
              or objects.RequestLevelParams())
    return ResourceRequest(
        groups, flavors.policy(wishes.extra_specs),
        same_subtree=list(given(params, 'same_subtree', ())),
        root_required=set(given(params, 'root_required', ())),
        root_forbidden=set(given(params, 'root_forbidden', ())))


def _requested(spec_obj):
    return given(spec_obj, 'requested_resources', ())


def _add_requested(groups, index, wanted):
    """Add a RequestGroup, of a port or a device, under its own name."""
    suffix = given(wanted, 'requester_id', '')
    group = Group(
        resources=dict(given(wanted, 'resources', {})),
        required=set(given(wanted, 'required_traits', ())),
        forbidden=set(given(wanted, 'forbidden_traits', ())),
        member_of=list(given(wanted, 'aggregates', ())),
        forbidden_aggregates=set(given(wanted, 'forbidden_aggregates', ())),
        in_tree=wanted.in_tree)
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


def _add_aggregates(group, wanted):
    """Add the aggregates of a Destination, or of None."""
    if wanted is not None:
        group.member_of.extend(
            uuids.split(',') for uuids in wanted.aggregates or ())
        group.forbidden_aggregates.update(wanted.forbidden_aggregates or ())


def _standard_amounts(spec_obj, asked):
    """The flavor's sizes in classes that no group mentions: a dict."""
    mentioned = {name for group in asked.groups.values()
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


def _settle_groups(asked, spec_obj):
    """Drop amounts of zero and empty groups, then settle the policy."""
    for group in asked.groups.values():
        group.drop_zeros()
    asked.groups = {suffix: group for suffix, group in asked.groups.items()
                    if group or not suffix}
    suffixes = asked.groups.keys() - {''}
    if asked.group_policy is not None or len(suffixes) < 2:
        return
    LOG.warning('There is more than one numbered request group in the '
                'allocation candidate query but the flavor did not specify '
                "any group policy. Set its extra spec group_policy to 'none' "
                "(groups may share a provider) or 'isolate'.")
    of_flavor = suffixes - {group.requester_id
                            for group in _requested(spec_obj)}
    if len(of_flavor) < 2:
        LOG.info('At least one numbered request group is defined outside of '
                 "the flavor: its group policy defaults to 'none'.")
        asked.group_policy = 'none'


def _completed(asked, standard, pins):
    """The query with amounts of CPUs, memory and disk: ResourceRequest.

    standard: the flavor's sizes.  pins: Pins, which go before them.
    """
    group = asked.groups['']
    if classes.PCPU in pins.amounts:
        standard = {name: amount for name, amount in standard.items()
                    if name != classes.VCPU}
    made = dataclasses.replace(
        group, resources={**standard, **group.resources, **pins.amounts},
        required=group.required | pins.required,
        forbidden=group.forbidden | pins.forbidden)
    made.drop_zeros()
    return dataclasses.replace(asked, groups={**asked.groups, '': made})
