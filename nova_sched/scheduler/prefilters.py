"""Runs Nova's request filters on a request before the query to Placement."""

import functools
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.network.neutron import Neutron
from nova_sched.objects import base
from nova_sched.scheduler import request_filter

LOG = logging.getLogger(__name__)


class Prefilters:
    """Nova's request filters, with the sources that they read from.

    host_manager: scheduler.host_manager.HostManager, or None.  One without
        ``aggregates`` and ``oldest_compute`` counts as having none.
    placement: scheduler.client.report.SchedulerReportClient.
    clock: function that returns seconds.
    """

    def __init__(self, conf, host_manager, placement, clock=time.monotonic):
        self._options, self._clock = request_filter.Options.of(conf), clock
        self._neutron = Neutron(conf, clock=clock)
        # A third party's host manager may lack these methods.
        self._aggregates = getattr(host_manager, 'aggregates', list)
        self._oldest_compute = getattr(
            host_manager, 'oldest_compute', lambda: None)
        self._placement = placement

    def apply(self, context, spec_obj):
        """Return a copy of a RequestSpec that the request filters edited.

        context: of the request; its token reads the ports.
        Raises NoValidHost for a request that can have no host, InvalidInput
        for an invalid one, DatabaseUnavailable,
        ResourceProviderAggregateRetrievalFailed, and what network.neutron
        raises for ports and networks.
        """
        spec_obj = base.clone(spec_obj)
        networks = self._neutron.reader(context)
        facts = _Facts(
            networks, functools.partial(_aggregates_of, self._placement,
                                        context, networks.deadline),
            self._aggregates, self._oldest_compute)
        try:
            request_filter.process_reqspec(spec_obj, facts, self._options,
                                           self._clock)
        except exception.RequestFilterFailed as exc:
            raise exception.NoValidHost(reason=str(exc),
                                        nova=str(exc)) from exc
        return spec_obj


class _Facts:
    """The facts of one request, as of request_filter; each is read once."""

    def __init__(self, networks, aggregates_of, aggregates, oldest_compute):
        self.aggregates = functools.cache(aggregates)
        self.oldest_compute = oldest_compute
        self.port = networks.port
        self.segments_of_network = functools.cache(
            networks.segments_of_network)
        self.segments_of_subnet = functools.cache(networks.segments_of_subnet)
        self.aggregates_of = functools.cache(aggregates_of)


def _aggregates_of(placement, context, deadline, segment):
    """Return the aggregates of a segment; None without a timely answer."""
    if deadline.left() > 0:
        return placement.aggregates_of(segment, context)
    LOG.warning('Placement is not asked for the aggregates of segment %s: '
                'reading the networks of one request took too long', segment)
    return None
