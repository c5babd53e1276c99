"""Request filters that ask about the networks and ports of a request."""

import os_traits
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.rules.prefilters import edits
from nova_sched.rules.resources.wishes import given

LOG = logging.getLogger(__name__)

#: In place of a network: Neutron is to make one, or none is wanted.
_NO_NETWORKS = ('auto', 'none')
_REMOTE_MANAGED = 'remote-managed'


def routed_networks_filter(spec_obj, facts, options):
    """Send a request to hosts that reach the segments of its networks.

    Raises RequestFilterFailed where Neutron or Placement do not tell which
    aggregates a segment has; and what ``facts`` raises.
    """
    if not options.query_placement_for_routed_network_aggregates:
        return False
    for wanted in _networks(spec_obj):
        network_id, found = _reachable(wanted, facts)
        if found:
            edits.require_any(spec_obj, found)
            LOG.debug('routed_networks_filter request filter added the '
                      'following aggregates for network ID %s: %s',
                      network_id, ', '.join(found))
    return True


def remote_managed_ports_filter(spec_obj, facts, _options):
    """Ask for a host whose ports are managed elsewhere, for such a port.

    Raises what ``facts`` raises.
    """
    for wanted in _networks(spec_obj):
        if wanted.port_id and (
                facts.port(wanted.port_id).vnic_type == _REMOTE_MANAGED):
            edits.require(spec_obj, os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
            LOG.debug('remote_managed_ports_filter request filter added '
                      'trait %s', os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
    return True


def _networks(spec_obj):
    networks = given(spec_obj, 'requested_networks')
    return networks.objects if networks else ()


def _reachable(wanted, facts):
    """The aggregates of hosts that reach what a NetworkRequest asks for.

    Returns (id of the network, or None for a port with an address; list of
    aggregate uuids, which is empty where every host does).
    """
    network_id = wanted.network_id
    if wanted.port_id:
        port = facts.port(wanted.port_id)
        if port.subnet_id:
            return None, _aggregates(
                facts.segments_of_subnet(port.subnet_id), facts,
                f'subnet {port.subnet_id}')
        network_id = port.network_id
    if not network_id or network_id in _NO_NETWORKS:
        return network_id, []
    return network_id, _aggregates(facts.segments_of_network(network_id),
                                   facts, f'network {network_id}')


def _aggregates(segments, facts, where):
    """The aggregates of segments, which must have some: list of uuids."""
    found = []
    for segment in dict.fromkeys(_told(segments, where)):
        found += _told(facts.aggregates_of(segment) or None, where)
    return list(dict.fromkeys(found))


def _told(answer, where):
    if answer is None:
        raise exception.RequestFilterFailed(
            f'Aggregates not found for the {where}')
    return answer
