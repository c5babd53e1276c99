"""Nova's request filters in Nova's order: ``process_reqspec``.

The filters themselves are in ``nova_sched.rules.prefilters``.
"""

import dataclasses

from oslo_log import log as logging

from nova_sched.rules.prefilters import aggregates
from nova_sched.rules.prefilters import networks
from nova_sched.rules.prefilters import traits

LOG = logging.getLogger(__name__)

FILTERS = (
    aggregates.require_tenant_aggregate,
    aggregates.map_az_to_placement_aggregate,
    traits.require_image_type_support,
    traits.compute_status_filter,
    aggregates.isolate_aggregates,
    traits.transform_image_metadata,
    traits.accelerators_filter,
    traits.packed_virtqueue_filter,
    networks.routed_networks_filter,
    networks.remote_managed_ports_filter,
    traits.ephemeral_encryption_filter,
    traits.virtio_sound_filter,
    traits.tpm_secret_security_filter,
    traits.owner_nova_filter,
)


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of [scheduler] for request filters, all bool."""

    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    query_placement_for_routed_network_aggregates: bool = False

    @classmethod
    def of(cls, conf):
        """Read the options of a ConfigOpts."""
        return cls(*(conf.scheduler[field.name]
                     for field in dataclasses.fields(cls)))


def process_reqspec(spec_obj, facts, options, clock):
    """Run all request filters on a RequestSpec, which they edit.

    facts: object with methods that filters call, each of which does I/O:

        aggregates()                all objects.Aggregate: list
        oldest_compute()            lowest version of all compute services:
                                    int, or None without any
        port(port_id)               an object with ``vnic_type``,
                                    ``network_id`` and ``subnet_id``, that of
                                    the first fixed address, or None
        segments_of_network(id)     uuids of the segments of a network's
        segments_of_subnet(id)      subnets, or of one subnet: list, or None
                                    without an answer of Neutron
        aggregates_of(segment)      uuids of a segment's aggregates: list, or
                                    None without an answer of Placement

    options: Options.  clock: function that returns seconds.
    Raises RequestFilterFailed for a request that can have no host,
    InvalidInput for an invalid one, and what ``facts`` raises.
    """
    for request_filter in FILTERS:
        start = clock()
        if request_filter(spec_obj, facts, options):
            LOG.debug('Request filter %r took %.1f seconds',
                      request_filter.__name__, clock() - start)
