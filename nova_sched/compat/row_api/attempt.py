"""A scheduling attempt by the overridden methods of a plug-in."""

import copy
import dataclasses

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import weights
from nova_sched.compat import nova_names
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.row_api import host_states
from nova_sched.compat.row_api import request
from nova_sched.hosts import decision
from nova_sched.rules import narrowing
from nova_sched.scheduler import attempt
from nova_sched.scheduler import selections
from nova_sched.scheduler.ranking import Ranked

LOG = logging.getLogger(__name__)


class RowApiAttempt(attempt.SchedulingAttempt):
    """A SchedulingAttempt whose steps are Nova's methods.

    nova: NovaSchedulerMixin.  All instances are decided in one slice.
    """

    def __init__(self, nova, *args):
        super().__init__(*args)
        self._nova = nova
        self._request = None

    def _own_spec(self):
        return kilo_mapping.with_mapping(super()._own_spec())

    def place(self, hosts, siblings=(), is_over=None, **kwargs):
        self._request = request.Request(
            self._record, hosts, lambda: self._generator, super()._refuse)
        with request.deciding(self._request):
            return super().place(hosts, siblings, **kwargs)

    def selections(self):
        self._ensure_sufficient()
        offer, most = self.hosts.offer, self.request.most_alternates
        hosts = self._ranked.hosts.states()
        # A copy: requests share the candidates, and an override may change
        # them.
        by_provider = copy.deepcopy(
            dict(offer.by_provider)) if self.claims.claiming else None
        claimed = ([each.claimed.request for each in self._picks()]
                   if by_provider else None)
        # A new Decision: this second sort is not recorded.
        with request.deciding(dataclasses.replace(
                self._request, claimed=claimed or (),
                record=decision.Decision())):
            found = list(filter(None, self._call(
                '_get_alternate_hosts', self._states(), self._spec_obj, hosts,
                self.request.count - 1, most, by_provider,
                self.claims.version, claimed) or ()))
        if len(found) < self.request.count:
            self._raise(full=f'{len(found)} of {self.request.count} instances '
                             'could be placed')
        self._record.alternates = sum(len(each) - 1 for each in found)
        return found

    def _refuse(self):
        self._ensure_sufficient()
        super()._refuse()

    def _ensure_sufficient(self):
        uuids = self.request.instance_uuids if self.claims.claiming else ()
        with request.deciding(self._request):
            self._call('_ensure_sufficient_hosts', self._context(),
                       self._states(), self.request.count,
                       uuids[:len(self._placed)])

    def _states(self):
        """Return the chosen hosts: list of HostState, one per instance."""
        return [self.hosts.state(selections.row_of(self.hosts, each))
                for each in self._picks()]

    def _context(self):
        context = self.request.context
        return context and context.elevated()

    def _call(self, name, *args):
        """Return the result of one of Nova's methods.

        An error other than a refusal is logged.
        """
        try:
            return host_states.call(getattr(self._nova, name), *args)
        except (exception.NoValidHost, exception.InvalidInput):
            raise
        except Exception as error:
            nova_names.explain(error)
            LOG.error('%(name)s of %(cls)s, or what it calls, failed: '
                      '%(error)r', {'name': name, 'error': error,
                                    'cls': type(self._nova).__name__})
            raise

    def _offered(self):
        offered, offer = super()._offered(), self.hosts.offer
        left = narrowing.in_cells(
            offered, self._spec_obj.requested_destination)
        if left is not offered:
            self._record.funnel.step(0, narrowing.CELL, offered.rows,
                                     left.rows)
        summaries = None
        if offer is not None and offer.is_used:
            summaries = getattr(offer, 'summaries', None) or dict.fromkeys(
                offer.providers)
        found = self._call('_get_all_host_states', self._context(),
                           self._spec_obj, summaries)
        rows = host_states.rows_of(found or (), self.hosts,
                                   '_get_all_host_states')
        return self._left(left, rows[np.isin(rows, left.rows)], 0,
                          'get_all_host_states')

    def _choose(self, left, position, record):
        left = self._ranked.hosts if left is None else left
        self._request.index, self._request.record = position, record
        self._request.weighed, self._request.weights = None, {}
        with record.timed('sort'):
            found = self._call('_get_sorted_hosts', self._spec_obj,
                               left.states(), position) or ()
        rows = host_states.rows_of(found, self.hosts, '_get_sorted_hosts')
        hosts = self._left(left, rows, position, 'get_sorted_hosts')
        return Ranked.of(hosts, _weighed(
            hosts, self._request.weights, self._request.weighed))

    def _left(self, before, rows, index, name):
        """Return the HostBlock of rows; record hosts that a method dropped.
        """
        record = self._request.record
        rejected = [rows, *(gone for _, gone in record.funnel.rejected())]
        unseen = np.setdiff1d(before.rows, np.concatenate(rejected))
        if len(unseen):
            record.funnel.step(index, name, np.concatenate([rows, unseen]),
                               rows)
        return self.hosts.block(rows)

    def _consume(self, uuid, claimed, limits):
        self.hosts.mapping = claimed.mapping
        state = self.hosts.state(claimed.row)
        state.limits.update(limits)
        # An override may consume more or less than the ledger entry.
        self.hosts.writes += 1
        self._call('_consume_selected_host', state, self._spec_obj, uuid)


def _weighed(hosts, by_name, last):
    """Return the weights of a HostBlock: weights.Weighed.

    by_name: (host, node) -> weight by which the hosts were sorted, best first.
    last: Weighed of the weighers, which counts if its weights are the same,
        because it has each weigher's part.
    """
    if last is not None and np.isin(hosts.rows, last.rows).all() and (
            np.array_equal(last.weights, list(by_name.values()), True)):
        return last
    found = [by_name.get(host_states.names_of(state), 0.0)
             for state in hosts.states()]
    nothing = np.zeros((0, len(found)))
    return weights.Weighed(hosts.rows, np.array(found, dtype=np.float64), (),
                           nothing, nothing, [])
