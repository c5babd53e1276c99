"""The request filters of Nova, in their order: ``process_reqspec``.

What they do is in ``nova_sched.rules.prefilters``; which of them there are,
and in which order, is Nova's.
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
    """The options of [scheduler] that request filters obey, all bool."""

    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    query_placement_for_routed_network_aggregates: bool = False

    @classmethod
    def of(cls, conf):
        """As a ConfigOpts has them."""
        return cls(*(conf.scheduler[field.name]
                     for field in dataclasses.fields(cls)))


def process_reqspec(spec_obj, facts, options, clock):
    """Run all request filters on a RequestSpec, which they edit.

    facts: what filters ask, each question an I/O:

        aggregates()                all objects.Aggregate: list
        oldest_compute()            least version of all compute services:
                                    int, or None without any
        port(port_id)               an object with ``vnic_type``,
                                    ``network_id`` and ``subnet_id``, that of
                                    the first fixed address, or None
        segments_of_network(id)     uuids of the segments of a network's
        segments_of_subnet(id)      subnets, or of one: list, or None if
                                    Neutron does not tell
        aggregates_of(segment)      uuids of a segment's aggregates: list, or
                                    None if Placement does not tell

    options: Options.  clock: function that gives seconds.
    Raises RequestFilterFailed for a request that can have no host,
    InvalidInput for one that is wrong, and what ``facts`` raises.
    """
    for request_filter in FILTERS:
        begin = clock()
        if request_filter(spec_obj, facts, options):
            LOG.debug('Request filter %r took %.1f seconds',
                      request_filter.__name__, clock() - begin)
