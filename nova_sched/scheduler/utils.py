"""Builds the queries for allocation candidates from a request.

``target`` returns the host that a request is bound to; the caller looks it up.
``resource_requests`` returns the queries: ResourceRequests with a method
``query`` that returns the query string of a microversion.  See Placement's API
reference and microversion history for the parameters.
"""

import dataclasses
import re
import typing
import urllib.parse

import os_resource_classes as classes
import os_traits
from oslo_log import log as logging

from nova_sched import objects
from nova_sched import toml_files
from nova_sched.hosts.allocation_candidates import FORMS
from nova_sched.objects.base import version_tuple
from nova_sched.objects.fields import MalformedError
from nova_sched.rules import flavor_image
from nova_sched.rules.flavor_image import FlavorImageRequirements
from nova_sched.rules.flavor_image import get_set

LOG = logging.getLogger(__name__)

#: Feature of a query -> the first microversion that supports it.
SINCE = toml_files.read('query_features.toml', __package__)

#: Older microversions: traits of the root provider go to the unnumbered group.
_ROOT_TRAITS = version_tuple('1.35')
#: Older microversions: the query is not restricted to one host.
_IN_TREE = version_tuple('1.31')
#: Older microversions: one group, no policy, parameters in a fixed order.
_GROUPS = version_tuple('1.25')
_OLDEST_ORDER = ('resources', 'limit', 'required')

#: Traits that the scheduler adds to every query.  Releases of Placement before
#: Train, the first with 1.32, refuse queries with these traits, and hosts of
#: these releases do not have them, so the traits are left out there.
OWN_REQUIRED = frozenset((os_traits.OWNER_NOVA,))
OWN_FORBIDDEN = frozenset((os_traits.COMPUTE_STATUS_DISABLED,))
_OWN_TRAITS = version_tuple('1.32')

_NUMBER = re.compile(r'[1-9][0-9]*')
#: Prefix of a required trait that means any of several: ``in:A,B``.
ANY_OF = 'in:'

#: Names of request groups, and keys of extra specs for them:
#: ``resources1:VCPU``, ``trait:NAME`` and so on.
_SUFFIX = re.compile('[a-zA-Z0-9_-]{1,64}')
_KEY = re.compile(f'(resources|trait)({_SUFFIX.pattern})?:(.*)')
_POLICIES = (None, 'none', 'isolate')

#: Hints that depend on other instances' hosts, so that the query must not be
#: limited to some candidates.
_RELATING_HINTS = ('group', 'same_host', 'different_host')
_MIB_PER_GIB = 1024


@dataclasses.dataclass
class Group:
    """A request group: conditions on one provider.

    The unnumbered group has conditions on a whole provider tree.
    resources: resource class -> amount.
    required, forbidden: traits; ``in:A,B`` means any of several.
    member_of: lists of aggregate uuids; the provider must be in one of each.
    in_tree: uuid of a provider of the tree, or None.
    """

    resources: dict = dataclasses.field(default_factory=dict)
    required: set = dataclasses.field(default_factory=set)
    forbidden: set = dataclasses.field(default_factory=set)
    member_of: list = dataclasses.field(default_factory=list)
    forbidden_aggregates: set = dataclasses.field(default_factory=set)
    in_tree: str | None = None

    def __bool__(self):
        """Return whether there are conditions other than ``in_tree``."""
        return bool(self.resources or self.required or self.forbidden
                    or self.member_of or self.forbidden_aggregates)

    def needs(self, suffix):
        """Return the features (keys of SINCE) that the group uses: set.

        suffix: name of the group, '' for the unnumbered group.
        """
        needs = {
            'aggregates': self.member_of,
            'forbidden traits': self.forbidden,
            'forbidden aggregates': self.forbidden_aggregates,
            'any of several traits': self._any_of(),
            'request groups': suffix,
            'request groups whose names are no numbers':
                suffix and not _NUMBER.fullmatch(suffix),
            'request groups without amounts': suffix and not self.resources,
            'in_tree of a request group': suffix and self.in_tree}
        return {feature for feature, needed in needs.items() if needed}

    def parameters(self, suffix):
        """Yield the group's query parameters: (name, value)."""
        any_of = self._any_of()
        traits = [*sorted(self.required.difference(any_of)),
                  *(f'!{trait}' for trait in sorted(self.forbidden))]
        if self.resources:
            yield f'resources{suffix}', ','.join(
                f'{name}:{amount}'
                for name, amount in sorted(self.resources.items()))
        if traits:
            yield f'required{suffix}', ','.join(traits)
        for trait in any_of:
            yield f'required{suffix}', trait
        for aggregates in self.member_of:
            yield f'member_of{suffix}', f'in:{",".join(sorted(aggregates))}'
        if self.forbidden_aggregates:
            joined = ','.join(sorted(self.forbidden_aggregates))
            yield f'member_of{suffix}', f'!in:{joined}'
        if self.in_tree:
            yield f'in_tree{suffix}', self.in_tree

    def _any_of(self):
        return [trait for trait in self.required if trait.startswith(ANY_OF)]


@dataclasses.dataclass
class ResourceRequest:
    """One query for allocation candidates.

    groups: suffix -> Group.  The unnumbered group '' always exists; its
        ``in_tree`` is the host that the request is bound to.
    group_policy: 'none', 'isolate' or None.
    same_subtree: lists of suffixes.
    root_required, root_forbidden: traits of the root provider.
    limit: maximum number of candidates; None for all.
    """

    groups: dict = dataclasses.field(default_factory=lambda: {'': Group()})
    group_policy: str | None = None
    same_subtree: list = dataclasses.field(default_factory=list)
    root_required: set = dataclasses.field(default_factory=set)
    root_forbidden: set = dataclasses.field(default_factory=set)
    limit: int | None = None

    def amounts_alone(self):
        """Return a query for one candidate that has the same amounts.

        Other conditions, and the amounts of numbered groups, are left out.
        """
        group = self.groups['']
        return ResourceRequest({'': Group(
            resources=group.resources, in_tree=group.in_tree)}, limit=1)

    def minimum_version(self):
        """Return the oldest of FORMS that supports the query: text."""
        since = [version_tuple(SINCE[feature]) for feature in self._needs()]
        return next(form for form in FORMS if all(
            version <= version_tuple(form) for version in since))

    def query(self, version):
        """Return the query string for one of FORMS; equal queries have equal
        strings.

        version: at least ``minimum_version``.
        ``in_tree`` and the traits that the scheduler adds (OWN_REQUIRED,
        OWN_FORBIDDEN) are left out in microversions without them; later steps
        check the hosts.
        """
        known = version_tuple(version)
        pairs = self._request_level(known)
        for suffix, group in self._groups(known).items():
            pairs.extend(group.parameters(suffix))
        if known < _GROUPS:
            pairs.sort(key=lambda pair: _OLDEST_ORDER.index(pair[0]))
        else:
            pairs.sort()
        return urllib.parse.urlencode(pairs)

    def _needs(self):
        needs = set().union(*(group.needs(suffix) for suffix, group
                              in self.groups.items()))
        if self.same_subtree:
            needs.add('same_subtree')
        forbidden = self.root_forbidden - OWN_FORBIDDEN
        if forbidden:
            needs.add('forbidden traits')
        if (forbidden or self.root_required - OWN_REQUIRED) and (
                not self.groups[''].resources):
            needs.add('traits of the root provider alone')
        return needs

    def _request_level(self, known):
        pairs = [('same_subtree', ','.join(sorted(suffixes)))
                 for suffixes in self.same_subtree]
        if self.group_policy and known >= _GROUPS:
            pairs.append(('group_policy', self.group_policy))
        if self.limit is not None and not self._drops_in_tree(known):
            pairs.append(('limit', str(self.limit)))
        if known >= _ROOT_TRAITS:
            root = Group(required=self.root_required,
                         forbidden=self.root_forbidden)
            pairs.extend((f'root_{name}', value)
                         for name, value in root.parameters(''))
        return pairs

    def _drops_in_tree(self, known):
        """Return whether ``in_tree`` is left out, so that all hosts match."""
        return self.groups[''].in_tree is not None and known < _IN_TREE

    def _groups(self, known):
        """Return the groups in the form of a microversion."""
        group = self.groups['']
        if self._drops_in_tree(known):
            group = dataclasses.replace(group, in_tree=None)
        # A group without amounts cannot have traits in these microversions.
        if known < _ROOT_TRAITS and group.resources:
            required, forbidden = self.root_required, self.root_forbidden
            if known < _OWN_TRAITS:
                required = required - OWN_REQUIRED
                forbidden = forbidden - OWN_FORBIDDEN
            group = dataclasses.replace(
                group, required=group.required | required,
                forbidden=group.forbidden | forbidden)
        return {**self.groups, '': group}


class Target(typing.NamedTuple):
    """The host that a request is bound to.

    host, node: names; None for any.  cell: uuid of the cell to search, or None
    for all cells.
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

    Host and node are from the requested destination, or else the first forced
    host and node.
    """
    destination = spec_obj.requested_destination
    host = ((destination and destination.host)
            or next(iter(spec_obj.force_hosts or ()), None))
    node = ((destination and destination.node)
            or next(iter(spec_obj.force_nodes or ()), None))
    if not (host or node):
        return None
    cell = destination and destination.cell
    return Target(host, node, cell.uuid if cell else None)


def resource_requests(spec_obj, *, max_results, fallback_pcpu_query=True,
                      target_node=None):
    """Return the queries for a RequestSpec: one or two ResourceRequests.

    max_results: maximum number of candidates.
    fallback_pcpu_query: whether a second query requests dedicated CPUs as
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
    for group in base.groups.values():
        group.resources = _nonzero(group.resources)
    base.groups = {suffix: group for suffix, group in base.groups.items()
                   if group or not suffix}
    _default_group_policy(base, spec_obj)
    pins = flavor_image.pins(requirements)
    requests = [_with_amounts(base, standard, pins)]
    if pins.amounts and fallback_pcpu_query:
        unpinned = _with_amounts(base, standard, flavor_image.NO_PINS)
        if unpinned not in requests:
            requests.append(unpinned)
    return requests


def _needs_all(spec_obj, target_node):
    """Return whether a limited list could lack the candidates that match."""
    hints = spec_obj.scheduler_hints or {}
    return any(name in hints for name in _RELATING_HINTS) or (
        target_node is None and target(spec_obj) is not None)


def _base_request(spec_obj, requirements):
    """Return a ResourceRequest without limit and without the flavor's sizes.

    It may have amounts of zero.
    """
    groups = _flavor_groups(requirements.extra_specs)
    groups[''].required.update(requirements.image.get('traits_required') or ())
    for index, group in enumerate(
            get_set(spec_obj, 'requested_resources', ())):
        _add_request_group(groups, index, group)
    flavor_image.add_devices(groups[''], requirements)
    destination = spec_obj.requested_destination
    if destination is not None:
        groups[''].member_of.extend(
            uuids.split(',') for uuids in destination.aggregates or ())
        groups[''].forbidden_aggregates.update(
            destination.forbidden_aggregates or ())
    params = (get_set(spec_obj, 'request_level_params')
              or objects.RequestLevelParams())
    policy = requirements.extra_specs.get('group_policy')
    if policy not in _POLICIES:
        LOG.warning("Invalid group_policy '%s'. Valid values are 'none' and "
                    "'isolate'.", policy)
        policy = None
    return ResourceRequest(
        groups, policy,
        same_subtree=list(get_set(params, 'same_subtree', ())),
        root_required=set(get_set(params, 'root_required', ())),
        root_forbidden=set(get_set(params, 'root_forbidden', ())))


def _add_request_group(groups, index, requested):
    """Add the RequestGroup of a port or a device, under its requester_id."""
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
        must = 'must name a group with conditions on its provider'
    else:
        groups[suffix] = group
        return
    raise MalformedError(suffix, must, 'requested_resources', index,
                         'requester_id').as_invalid_input()


def _standard_amounts(spec_obj, request):
    """Return the flavor's amounts of classes that no group mentions: dict."""
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


def _nonzero(amounts):
    """Return the amounts that are not zero: dict."""
    return {name: amount for name, amount in amounts.items() if amount}


def _default_group_policy(request, spec_obj):
    """Warn of a missing group policy, and set a default for ports' groups."""
    suffixes = request.groups.keys() - {''}
    if request.group_policy is not None or len(suffixes) < 2:
        return
    LOG.warning('There is more than one numbered request group in the '
                'allocation candidate query but the flavor did not specify '
                "any group policy. Set its extra spec group_policy to 'none' "
                "(groups may share a provider) or 'isolate'.")
    of_flavor = suffixes - {
        group.requester_id
        for group in get_set(spec_obj, 'requested_resources', ())}
    if len(of_flavor) < 2:
        LOG.info('At least one numbered request group is defined outside of '
                 "the flavor: its group policy defaults to 'none'.")
        request.group_policy = 'none'


def _with_amounts(request, standard, pins):
    """Return a ResourceRequest with amounts of CPUs, memory and disk.

    standard: the flavor's amounts.  pins: Pins, which take precedence.
    """
    group = request.groups['']
    if classes.PCPU in pins.amounts:
        standard = {name: amount for name, amount in standard.items()
                    if name != classes.VCPU}
    completed = dataclasses.replace(
        group, resources=_nonzero(
            {**standard, **group.resources, **pins.amounts}),
        required=group.required | pins.required,
        forbidden=group.forbidden | pins.forbidden)
    return dataclasses.replace(
        request, groups={**request.groups, '': completed})


def _flavor_groups(extra_specs):
    """Return the groups of a flavor's extra specs: suffix -> Group.

    Keys and values are Nova's.  Invalid extra specs are ignored with a
    warning.  The unnumbered group '' always exists.  Amounts may be zero, and
    groups may be empty.
    """
    groups = {'': Group()}
    for key, value in extra_specs.items():
        parts = _KEY.fullmatch(key)
        if parts is None:
            continue
        kind, suffix, name = parts.groups('')
        add = _add_amount if kind == 'resources' else _add_trait
        add(groups.setdefault(suffix, Group()), key, name, value)
    return groups


def _add_amount(group, key, name, value):
    if not (name in classes.STANDARDS or classes.is_custom(name)):
        LOG.warning("Received an invalid ResourceClass '%(key)s' in "
                    "extra_specs.", {'key': name})
        return
    try:
        amount = int(value)
    except ValueError:
        amount = -1
    if amount < 0:
        LOG.warning("Resource amounts must be nonnegative integers. "
                    "Received '%(val)s' for key %(key)s.",
                    {'val': value, 'key': key})
        return
    group.resources[name] = amount


def _add_trait(group, key, name, value):
    traits = {'required': group.required, 'forbidden': group.forbidden}
    if value not in traits:
        LOG.warning("Only (required, forbidden) traits are supported. "
                    "Received '%(val)s' for key %(key)s.",
                    {'val': value, 'key': key})
        return
    traits[value].add(name)
