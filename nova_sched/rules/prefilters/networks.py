"""Request filters for the networks and ports of a request."""

import os_traits
from oslo_log import log as logging

from nova_sched import exception
from nova_sched.rules.prefilters import edits
from nova_sched.rules.resources.flavor_image import get_set

LOG = logging.getLogger(__name__)

#: Values in place of a network: Neutron creates one, or there is none.
_NO_NETWORKS = ('auto', 'none')
_REMOTE_MANAGED = 'remote-managed'


def routed_networks_filter(spec_obj, facts, options):
    """Restrict a request to hosts that reach the segments of its networks.

    Raises RequestFilterFailed if Neutron or Placement do not return the
    aggregates of a segment, and what ``facts`` raises.
    """
    if not options.query_placement_for_routed_network_aggregates:
        return False
    for requested in _networks(spec_obj):
        network_id, found = _reachable(requested, facts)
        if found:
            edits.require_any(spec_obj, found)
            LOG.debug('routed_networks_filter request filter added the '
                      'following aggregates for network ID %s: %s',
                      network_id, ', '.join(found))
    return True


def remote_managed_ports_filter(spec_obj, facts, _options):
    """Require a host with remote-managed ports if a port is such a one.

    Raises what ``facts`` raises.
    """
    for requested in _networks(spec_obj):
        if requested.port_id and (
                facts.port(requested.port_id).vnic_type == _REMOTE_MANAGED):
            edits.require(spec_obj, os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
            LOG.debug('remote_managed_ports_filter request filter added '
                      'trait %s', os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
    return True


def _networks(spec_obj):
    networks = get_set(spec_obj, 'requested_networks')
    return networks.objects if networks else ()


def _reachable(requested, facts):
    """Return the aggregates of hosts that reach a NetworkRequest.

    Returns (id of the network, or None for a port with an address; list of
    aggregate uuids, which is empty if every host reaches it).
    """
    network_id = requested.network_id
    if requested.port_id:
        port = facts.port(requested.port_id)
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
    """Return the aggregates of segments: list of uuids.

    Raises RequestFilterFailed if a segment has none.
    """
    found = []
    for segment in dict.fromkeys(_required(segments, where)):
        found += _required(facts.aggregates_of(segment) or None, where)
    return list(dict.fromkeys(found))


def _required(answer, where):
    if answer is None:
        raise exception.RequestFilterFailed(
            f'Aggregates not found for the {where}')
    return answer
