"""Codes of refusals: a closed catalogue, for programs and for the docs.

A code says what takes a host out, or ends a request; its stage says where on
a request's way.  Each built-in filter names its own (``BaseFilter.code``), and
so may plug-ins, for which any other name is free.  ``doc/source/codes.rst``
has a section on each.
"""

import re
import typing

from nova_sched.rules import narrowing

#: Where on its way a request loses hosts, or ends.
STAGES = REQUEST, PLACEMENT, STATE, FILTERS, CLAIMS, LATE, DRIVER = (
    'request', 'placement', 'state', 'filters', 'claims', 'late', 'driver')

#: What kind of a no it is, see ``rules.refusals``.
KINDS = (NO_CAPACITY, FILTERED_OUT, FRAGMENTED, RACED, STATE_STALE,
         CONTRADICTION) = (
    'no_capacity', 'filtered_out', 'fragmented', 'raced', 'state_stale',
    'contradiction')

#: What hosts are out by that have no room.
OF_AMOUNTS = frozenset(('placement_resource', 'vcpus', 'ram', 'disk', 'numa',
                        'pci'))

#: What the other steps are called in the record of a request.
OFFERED, CLAIMED, SERVICE_UP, EARLIER, TOGETHER = (
    'allocation candidates', 'claims refused', 'service up',
    'earlier instances', 'filters together')

#: Characters of a plug-in's code.
_LONGEST = 60


class Code(typing.NamedTuple):
    """One code, its stage, and what it means, in words."""

    name: str
    stage: str
    meaning: str


CATALOGUE = {name: Code(name, stage, meaning) for name, stage, meaning in (
    ('no_instances', REQUEST, 'the request asks for no instance'),
    ('invalid_request', REQUEST, 'an argument of the call is wrong'),
    ('incompatible_version', REQUEST,
     'the caller sends objects of an unknown major version'),
    ('unknown_host', REQUEST, 'the request names a host that is not there'),
    ('request_filter', REQUEST, 'a request filter rejects the request'),
    ('ignored', REQUEST, 'the request ignores the host'),
    ('other_destination', REQUEST, 'the request is bound to another host'),
    ('not_forced', REQUEST, 'the request is forced to other hosts'),
    ('other_cell', REQUEST,
     'the request is bound to another cell, or the cell is disabled'),
    ('placement_offers_none', PLACEMENT, 'Placement offers no host'),
    ('placement_not_offered', PLACEMENT, 'Placement does not offer the host'),
    ('placement_resource', PLACEMENT,
     'Placement has too little left of a resource class'),
    ('placement_trait', PLACEMENT,
     'the provider lacks a required trait, or has a forbidden one'),
    ('placement_aggregate', PLACEMENT,
     'the provider is in none of the aggregates asked for'),
    ('placement_unavailable', PLACEMENT,
     'Placement does not answer in time, or cannot be used'),
    ('no_hosts', STATE, 'there are no hosts'),
    ('service_down', STATE, 'the compute service is down'),
    ('service_disabled', STATE, 'the compute service is disabled'),
    ('database_unavailable', STATE, 'a database cannot be read'),
    ('vcpus', FILTERS, 'too few VCPUs are free'),
    ('ram', FILTERS, 'too little RAM is free'),
    ('disk', FILTERS, 'too little disk is free'),
    ('numa', FILTERS, 'the guest does not fit on the NUMA cells'),
    ('pci', FILTERS, 'the PCI devices asked for are not free'),
    ('instances', FILTERS, 'too many instances are on the host'),
    ('io_ops', FILTERS, 'too many builds and migrations are under way'),
    ('metrics', FILTERS, 'a metric that is weighed is missing'),
    ('zone', FILTERS, 'the host is in another availability zone'),
    ('tenant', FILTERS, 'the host is reserved for other projects'),
    ('aggregate_extra_specs', FILTERS,
     "the host's aggregates lack an extra spec of the flavor"),
    ('aggregate_image', FILTERS,
     "the host's aggregates are for other images"),
    ('aggregate_flavor', FILTERS,
     "the host's aggregates are for other flavors"),
    ('flavor_affinity', FILTERS,
     'instances of another flavor are on the host'),
    ('capabilities', FILTERS,
     'the host lacks a capability that the flavor asks for'),
    ('image', FILTERS, 'the host cannot run the image'),
    ('isolation', FILTERS,
     'the host is isolated for other images, or the image for other hosts'),
    ('json_query', FILTERS, "the hint's query does not match the host"),
    ('trust', FILTERS, 'the host is not attested as asked for'),
    ('group_affinity', FILTERS, 'its server group is on other hosts'),
    ('group_anti_affinity', FILTERS, 'its server group is on the host'),
    ('same_host', FILTERS, 'none of the instances in the hint is there'),
    ('different_host', FILTERS, 'an instance of the hint is there'),
    ('cidr', FILTERS, 'the host is outside of the network of the hint'),
    ('retried', FILTERS, 'the build has failed there before'),
    ('claim_refused', CLAIMS, 'Placement refuses the claim'),
    ('claim_unanswered', CLAIMS,
     'Placement does not answer the claim in time'),
    ('claim_conflict', CLAIMS,
     'something else claims for the same instance'),
    ('time_spent', LATE, 'the request has spent its time'),
    ('no_reason', DRIVER, 'the driver does not say why'),
    ('error', DRIVER, 'an error ends the request'))}

_OF_STEPS = {
    narrowing.CELL: 'other_cell', narrowing.DESTINATION: 'other_destination',
    narrowing.IGNORED: 'ignored', narrowing.FORCED_HOSTS: 'not_forced',
    narrowing.FORCED_NODES: 'not_forced', OFFERED: 'placement_not_offered',
    CLAIMED: 'claim_refused', SERVICE_UP: 'service_down'}


def stage(code):
    """Return the stage of a code; of a plug-in's that of filters."""
    known = CATALOGUE.get(code)
    return FILTERS if known is None else known.stage


def of_rule(name, filter_=None):
    """Return the code of a rule.

    name: of a filter, or of a step that is none.
    filter_: the filter, if there is one.
    """
    code = getattr(filter_, 'code', None)
    if not isinstance(code, str) or not code:
        code = _OF_STEPS.get(name) or _named_by(name)
    return re.sub('[^a-z0-9_]', '_', code[:_LONGEST].lower())


def _named_by(name):
    """Return a code made of a class's name: 'gpu_model' of GpuModelFilter."""
    return re.sub('(?<=[a-z0-9])(?=[A-Z])', '_',
                  name.removesuffix('Filter') or name)
