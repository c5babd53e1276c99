"""Affinity filters: where an instance's relatives run, or do not."""

import numpy as np
from oslo_log import log as logging

from nova_sched.objects import base
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters import words

LOG = logging.getLogger(__name__)

#: From this version on groups carry a policy's rules (Rocky).
_RULES_SINCE = (1, 11)


class ServerGroupAntiAffinityFilter(filters.ColumnFilter):
    """Hosts without a member of the instance's anti-affinity group.

    With the group's rule ``max_server_per_host``: hosts with fewer members
    than that.  The host that the instance is on passes, so that it can be
    resized there.

    Callers of before Rocky send groups that know no rules, and whose list of
    hosts counts, not its members: every host on it is rejected.
    """

    def mask(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if group is None or group.policy != 'anti-affinity':
            return np.ones(len(hosts), dtype=np.bool_)
        if _follows_host_list(group):
            return ~hosts.named('host', group.hosts or ()) | hosts.named(
                'host', _located(hosts, [spec_obj.instance_uuid]).values())
        return self._by_members(hosts, spec_obj, group)

    @staticmethod
    def _by_members(hosts, spec_obj, group):
        most = _most_per_host(group)
        own = spec_obj.instance_uuid
        located = _located(hosts, [*(group.members or ()), own])
        counts = dict.fromkeys(located.values(), 0)
        for uuid in {*(group.members or ())} & located.keys():
            counts[located[uuid]] += 1
        full = [host for host, count in counts.items() if count >= most]
        if LOG.isEnabledFor(logging.DEBUG):
            for host in dict.fromkeys(hosts.objects('host')):
                LOG.debug('Group anti-affinity: check if the number of '
                          'servers from group %(group)s on host %(host)s is '
                          'less than %(most)s.',
                          {'group': group.uuid or 'n/a', 'host': host,
                           'most': most})
        passes = (~hosts.named('host', full) if most > 0
                  else np.zeros(len(hosts), dtype=np.bool_))
        if own in located:
            passes |= hosts.named('host', [located[own]])
        return passes

    def reason(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if _follows_host_list(group):
            return 'anti-affinity, hosts of its group'
        most = _most_per_host(group)
        return ('anti-affinity, '
                f'{most} or more of its group on the host' if most != 1
                else 'anti-affinity, one of its group on the host')


class ServerGroupAffinityFilter(filters.ColumnFilter):
    """Hosts of the instance's affinity group; all while it has none."""

    def mask(self, hosts, spec_obj):
        group = spec_obj.instance_group
        if (group is None or 'affinity' not in (group.policies or ())
                or not group.hosts):
            return np.ones(len(hosts), dtype=np.bool_)
        if LOG.isEnabledFor(logging.DEBUG):
            for host in dict.fromkeys(hosts.objects('host')):
                LOG.debug('Group affinity: check if %(host)s in %(hosts)s',
                          {'host': host, 'hosts': group.hosts})
        return hosts.named('host', group.hosts)

    def reason(self, hosts, spec_obj):
        return ('affinity, its group is on '
                f'{words.listed(spec_obj.instance_group.hosts)}')


def _follows_host_list(group):
    """Whether the group is of a sender that counts hosts, not members."""
    return base.version_tuple(group.wire_version) < _RULES_SINCE


def _located(hosts, uuids):
    """{uuid: host} of those of the instances that are on a host."""
    return hosts.instances.located(
        [uuid for uuid in dict.fromkeys(uuids) if uuid])


def _most_per_host(group):
    """How many of the group one host may have."""
    return group.rules.get('max_server_per_host', 1)
