"""Facts for request filters, of a cloud described by a test."""

import dataclasses
import types

from nova_sched import objects
from nova_sched.scheduler import request_filter


def an_aggregate(uuid, **metadata):
    """An Aggregate; ``__`` in a metadata key stands for a colon."""
    return objects.Aggregate(id=1, uuid=uuid, name=uuid, metadata={
        name.replace('__', ':'): value for name, value in metadata.items()})


def a_port(network_id=None, subnet_id=None, vnic_type='normal'):
    """A port as Neutron's client describes it."""
    return types.SimpleNamespace(network_id=network_id, subnet_id=subnet_id,
                                 vnic_type=vnic_type)


@dataclasses.dataclass
class Facts:
    """The facts of request_filter.process_reqspec, from tables.

    known: aggregates.  oldest: version of the oldest compute service.
    ports: id -> a_port.  networks, subnets: id -> segments, or None.
    segments: uuid -> aggregates, or None.  asked: list of the queries.
    """

    known: tuple = ()
    oldest: int | None = 73
    ports: dict = dataclasses.field(default_factory=dict)
    networks: dict = dataclasses.field(default_factory=dict)
    subnets: dict = dataclasses.field(default_factory=dict)
    segments: dict = dataclasses.field(default_factory=dict)
    asked: list = dataclasses.field(default_factory=list)

    def _queried(self, table, key):
        self.asked.append((table, key))
        return getattr(self, table)[key]

    def aggregates(self):
        return list(self.known)

    def oldest_compute(self):
        return self.oldest

    def port(self, port_id):
        return self._queried('ports', port_id)

    def segments_of_network(self, network_id):
        return self._queried('networks', network_id)

    def segments_of_subnet(self, subnet_id):
        return self._queried('subnets', subnet_id)

    def aggregates_of(self, segment):
        return self._queried('segments', segment)


#: Options of [scheduler] that request filters read, all bool.
OPTIONS = (
    'limit_tenants_to_placement_aggregate',
    'placement_aggregate_required_for_tenants',
    'query_placement_for_image_type_support',
    'enable_isolated_aggregate_filtering', 'image_metadata_prefilter',
    'query_placement_for_routed_network_aggregates')


def options(*on):
    """The options of request filters.  on: names of the enabled options."""
    return types.SimpleNamespace(**{name: name in on for name in OPTIONS})


def filtered(spec_obj, *on, **facts):
    """Run the request filters on a request; return the request.

    on: enabled options.  facts: of Facts; or an object, as ``given``.
    """
    request_filter.process_reqspec(
        spec_obj, facts.pop('given', None) or Facts(**facts),
        options(*on), lambda: 0.0)
    return spec_obj


def required(spec_obj):
    """The traits required of the root provider except OWNER_NOVA: set."""
    return spec_obj.request_level_params.root_required - {'OWNER_NOVA'}
