"""Affinity filters: hosts with, or without, certain other instances."""

import collections

import netaddr
import numpy as np
from oslo_log import log as logging

from nova_sched.hosts import values
from nova_sched.objects import fields
from nova_sched.rules import phrases
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: The hint of SimpleCIDRAffinityFilter with an address.
_NEAR = 'build_near_host_ip'

#: An IP address: version 4 or 6, upper and lower 64 bits.
_ADDRESS = np.dtype([('version', np.uint8), ('high', np.uint64),
                     ('low', np.uint64)])
#: Values for a missing address and for an invalid address.
_NONE, _UNREADABLE = (0, 0, 0), (255, 0, 0)


class BaseInstanceHintFilter(filters.ColumnFilter):
    """Base class of filters by the instances that a scheduler hint names."""

    inputs = 'host', rule_inputs.LOCATED, rule_inputs.HINTS
    run_filter_once_per_request = True
    #: Name of the hint: one uuid or a list.
    hint = ''
    #: Whether hosts with an instance of the hint pass, or the others.
    passes_with = True

    def _named(self, spec_obj):
        """Return the uuids in the hint: list, empty without the hint."""
        uuids = spec_obj.get_scheduler_hint(self.hint) or []
        return [uuids] if isinstance(uuids, str) else uuids

    def mask(self, hosts, spec_obj):
        uuids = self._named(spec_obj)
        if not uuids:
            return np.ones(len(hosts), dtype=np.bool_)
        return self.passes_with == hosts.named(
            'host', _located(hosts, uuids).values())

    def reason(self, hosts, spec_obj):
        named = self._named(spec_obj)
        located = _located(hosts, named)
        where = phrases.listed(located.values()) if located else 'any host'
        return phrases.Reason(
            f'hint {self.hint} names {len(set(named))} instances',
            f'{len(located)} of them on {where}')


class DifferentHostFilter(BaseInstanceHintFilter):
    """Hosts without any instance of the hint ``different_host``."""

    code = hint = 'different_host'
    passes_with = False


class SameHostFilter(BaseInstanceHintFilter):
    """Hosts with at least one instance of the hint ``same_host``."""

    code = hint = 'same_host'


class SimpleCIDRAffinityFilter(filters.ColumnFilter):
    """Hosts with an address in the network of the request's hints.

    The network is the text of the hint ``build_near_host_ip`` followed by the
    text of the hint ``cidr``, by default ``/24``.  A cidr without a slash is
    simply appended to the address, as in Nova.

    A host with an invalid address is rejected, with one line in the log.
    Raises InvalidInput, which names the hints, for an invalid network.
    """

    code = 'cidr'
    inputs = 'host_ip', rule_inputs.HINTS
    run_filter_once_per_request = True

    def mask(self, hosts, spec_obj):
        if not len(hosts) or not spec_obj.get_scheduler_hint(_NEAR):
            return np.ones(len(hosts), dtype=np.bool_)
        network = _network(spec_obj)
        addresses = hosts.derived('host_ip', 'address', _address, _ADDRESS)
        unreadable = addresses['version'] == _UNREADABLE[0]
        if unreadable.any():
            for state in hosts.where(unreadable).states():
                values.warn(
                    state.host, state.nodename, 'host_ip = '
                    f'{values.shown(state.host_ip)}, which is no address')
        passes = addresses['version'] == network.version
        # The halves can be compared separately, because a network is all
        # addresses with the same prefix.
        for half, first, last in zip(('high', 'low'), _halves(network.first),
                                     _halves(network.last), strict=True):
            passes &= (first <= addresses[half]) & (addresses[half] <= last)
        return passes

    def reason(self, hosts, spec_obj):
        addresses = phrases.distinct(hosts, 'host_ip', lambda host_ip: (
            ['no address'] if host_ip is None else [host_ip]))
        return phrases.Reason(
            f'host address in {_network(spec_obj).cidr} needed',
            f'hosts have {phrases.listed(addresses)}')


def _network(spec_obj):
    near = spec_obj.get_scheduler_hint(_NEAR)
    cidr = spec_obj.get_scheduler_hint('cidr', '/24')
    for hint, value in ((_NEAR, near), ('cidr', cidr)):
        if not isinstance(value, str):
            raise _refused(value, 'must be one text', f'hint {hint}')
    try:
        return netaddr.IPNetwork(near + cidr)
    except (netaddr.AddrFormatError, ValueError):
        raise _refused(
            near + cidr, 'must be an address and the length of a network, '
            'as 10.0.0.1 and /24', f'hints {_NEAR} and cidr') from None


def _address(text):
    """Return the address in a text as a tuple of _ADDRESS."""
    if text is None:
        return _NONE
    try:
        address = netaddr.IPAddress(text)
    except (netaddr.AddrFormatError, ValueError):
        return _UNREADABLE
    return address.version, *_halves(int(address))


def _refused(value, must, field):
    return fields.MalformedError(value, must, field).as_invalid_input()


def _halves(number):
    """Return the upper and the lower 64 bits of an address."""
    return number >> 64, number & (1 << 64) - 1


class ServerGroupAntiAffinityFilter(filters.ColumnFilter):
    """Hosts without a member of the instance's anti-affinity group.

    If the group has the rule ``max_server_per_host``, hosts with fewer
    members.  The instance's own host passes, so that it can be resized there.

    Callers before Rocky send groups without rules.  All hosts in the group's
    list of hosts are then rejected, whether or not they have members.

    Raises InvalidInput if the rule is not an integer.
    """

    code = 'group_anti_affinity'
    inputs = 'host', rule_inputs.LOCATED

    def inputs_for(self, spec_obj):
        return self.inputs if _repels(spec_obj.instance_group) else ()

    def mask(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if not _repels(group):
            return np.ones(len(hosts), dtype=np.bool_)
        uuid, members = spec_obj.instance_uuid, group.members or ()
        if group.counts_by_host:
            passes = ~hosts.named('host', group.hosts or ())
            # As in Nova before Rocky, without this request's earlier picks.
            recorded = hosts.instances.located(
                [uuid] if uuid else [], placed=False)
            return passes | _with(hosts, uuid, recorded)
        located = _located(hosts, [uuid, *members])
        stays = _with(hosts, uuid, located)
        if stays.all():
            return stays
        return stays | self._by_members(hosts, group,
                                        _counted(members, located))

    @staticmethod
    def _by_members(hosts, group, counts):
        most = _most_per_host(group)
        if LOG.isEnabledFor(logging.DEBUG):
            for host in dict.fromkeys(hosts.objects('host')):
                LOG.debug('Group anti-affinity: check if the number of '
                          'servers from group %(group)s on host %(host)s is '
                          'less than %(most)s.',
                          {'group': group.uuid or 'n/a', 'host': host,
                           'most': most})
        if most < 1:
            return np.zeros(len(hosts), dtype=np.bool_)
        return ~hosts.named('host', [host for host, count in counts.items()
                                     if count >= most])

    def reason(self, hosts, spec_obj):
        group, names = spec_obj.instance_group, set(hosts.objects('host'))
        if group.counts_by_host:
            most, text = 1, f'it is on {phrases.listed(names)}'
        else:
            most, members = _most_per_host(group), group.members or ()
            counts = _counted(members, _located(hosts, members))
            text = 'it has ' + phrases.listed(
                f'{counts[host]} on {host}' for host in names)
        return phrases.Reason(
            f'anti-affinity, at most {most} of its group on a host', text)


class ServerGroupAffinityFilter(filters.ColumnFilter):
    """Hosts of the instance's affinity group; all while it has none."""

    code = 'group_affinity'
    # The first member's pick changes the verdict on all other hosts.
    inputs = 'host', rule_inputs.OTHER_HOSTS

    def inputs_for(self, spec_obj):
        return self.inputs if _attracts(spec_obj.instance_group) else ()

    def mask(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if not (_attracts(group) and group.hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        if LOG.isEnabledFor(logging.DEBUG):
            for host in dict.fromkeys(hosts.objects('host')):
                LOG.debug('Group affinity: check if %(host)s in %(hosts)s',
                          {'host': host, 'hosts': group.hosts})
        return hosts.named('host', group.hosts)

    def reason(self, hosts, spec_obj):
        hosts_of_group = spec_obj.instance_group.hosts
        return phrases.Reason(
            'affinity', f'its group is on {phrases.listed(hosts_of_group)}')


def _repels(group):
    """Return whether a server group (or None) has anti-affinity."""
    return group is not None and group.policy == 'anti-affinity'


def _attracts(group):
    """Return whether a server group (or None) has affinity."""
    return group is not None and 'affinity' in (group.policies or ())


def _located(hosts, uuids):
    """Return the hosts of the instances that are on a host: {uuid: host}."""
    return hosts.instances.located(
        [uuid for uuid in dict.fromkeys(uuids) if uuid])


def _counted(members, located):
    """Return the number of members on each host: Counter."""
    return collections.Counter(
        located[uuid] for uuid in {*members} & located.keys())


def _with(hosts, uuid, located):
    """Return which rows are nodes of an instance's host: bool (n,)."""
    return hosts.named('host', [located[uuid]] if uuid in located else [])


def _most_per_host(group):
    """Return the maximum number of group members on a host: int.

    Raises InvalidInput if the rule is not an integer.
    """
    try:
        return group.rules.get('max_server_per_host', 1)
    except ValueError:
        raise _refused(
            group._rules['max_server_per_host'], 'must be an integer',
            'instance_group.rules.max_server_per_host') from None
