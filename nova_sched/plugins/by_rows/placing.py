"""One request on its way to hosts, through methods of somebody else's."""

import dataclasses
import functools

import numpy as np
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import weights
from nova_sched.hosts import decision
from nova_sched.plugins import nova_methods
from nova_sched.plugins.by_rows import host_states
from nova_sched.plugins.by_rows import request
from nova_sched.plugins.by_rows import steps
from nova_sched.rules import narrowing
from nova_sched.rules import ranking
from nova_sched.scheduler import placing

LOG = logging.getLogger(__name__)


def way(driver):
    """What places the instances of requests: Placing, or what is made as it.

    driver: a FilterScheduler.  If its host manager is asked for filters and
    weighers, these are its ranker's from then on.
    """
    manager = driver.host_manager
    own = [f'{type(each).__name__}.{name}' for each, names in (
        (driver, nova_methods.STEPS), (manager, nova_methods.BY_ROWS))
        for name in nova_methods.overridden(each, names)]
    if own or nova_methods.overridden(manager, nova_methods.RULES):
        manager = _steps_of(driver).host_manager
        # The same: one that asks others ahead knows what they said.
        driver.ranker = ranking.Ranker(
            _configured(manager.running_filters(), driver.conf),
            _configured(manager.weighers, driver.conf))
    if not own:
        return placing.Placing
    LOG.info('Requests are decided host state by host state, because of %s',
             ', '.join(own))
    return functools.partial(ByRows, _steps_of(driver))


def _configured(rules, conf):
    """Rules that somebody else may have made, configured: the list."""
    for rule in rules:
        getattr(rule, 'configure', lambda conf: None)(conf)
    return rules


def _steps_of(driver):
    """The driver itself, or what takes Nova's steps for it."""
    if isinstance(driver, steps.Steps):
        return driver
    made = steps.Steps()
    made.conf, made.host_manager = driver.conf, driver.host_manager
    return made


class ByRows(placing.Placing):
    """Places the instances of one request; otherwise as Placing.

    nova: steps.Steps.  It is decided in one turn.
    """

    def __init__(self, nova, *args):
        super().__init__(*args)
        self._nova = nova
        self._request = None

    def run(self, hosts, siblings=(), is_over=lambda: False):
        self._request = request.Request(
            self._record, hosts, lambda: self._draw, super()._refuse)
        with request.deciding(self._request):
            return super().run(hosts, siblings)

    def answer(self):
        self._sufficient()
        offer, most = self._record.offer, self._wanted.most_alternates
        hosts = self._ranked.hosts.states()
        by_provider = offer.by_provider if self._claims.claiming else None
        claimed = ([taken.request for taken, _ in self._picked]
                   if by_provider else None)
        # What is sorted once more is not for the record.
        with request.deciding(dataclasses.replace(
                self._request, claimed=claimed or (),
                record=decision.Decision(budget=self._record.budget))):
            found = list(filter(None, self._ask(
                '_get_alternate_hosts', self._states(), self._spec_obj, hosts,
                len(self._picked) - 1, most, by_provider,
                self._claims.version, claimed) or ()))
        if len(found) < self._wanted.count:
            self._raise(full=f'{len(found)} of {self._wanted.count} instances '
                             'could be placed')
        self._record.alternates = sum(len(each) - 1 for each in found)
        return found

    def _refuse(self):
        self._sufficient()
        super()._refuse()

    def _sufficient(self):
        uuids = self._wanted.instance_uuids if self._claims.claiming else ()
        with request.deciding(self._request):
            self._ask('_ensure_sufficient_hosts', self._context(),
                      self._states(), self._wanted.count,
                      uuids[:len(self._picked)])

    def _states(self):
        """The hosts that were chosen: list of HostState, one an instance."""
        return [self._hosts.state(taken.row) for taken, _ in self._picked]

    def _context(self):
        context = self._wanted.context
        return context and context.elevated()

    def _ask(self, name, *args):
        """What one of Nova's steps answers.  What it raises goes on."""
        try:
            return host_states.asked(getattr(self._nova, name), *args)
        except (exception.NoValidHost, exception.InvalidInput):
            raise
        except Exception as error:
            LOG.error('%(name)s of %(cls)s, or what it calls, failed: '
                      '%(error)r', {'name': name, 'error': error,
                                    'cls': type(self._nova).__name__})
            raise

    def _offered(self):
        offered, offer = super()._offered(), self._record.offer
        left = narrowing.in_cells(
            offered, self._spec_obj.requested_destination)
        if left is not offered:
            self._record.step(0, narrowing.CELL, offered.rows, left.rows)
        summaries = None
        if offer is not None and offer.asked:
            summaries = getattr(offer, 'summaries', None) or dict.fromkeys(
                offer.providers)
        found = self._ask('_get_all_host_states', self._context(),
                          self._spec_obj, summaries)
        rows = host_states.rows_of(found or (), self._hosts,
                                   '_get_all_host_states')
        return self._left(left, rows[np.isin(rows, left.rows)], 0,
                          'get_all_host_states')

    def _choose(self, left, index, record):
        self._request.index, self._request.record = index, record
        self._request.weighed, self._request.weights = None, {}
        with record.timed('sort'):
            found = self._ask('_get_sorted_hosts', self._spec_obj,
                              left.states(), index) or ()
        rows = host_states.rows_of(found, self._hosts, '_get_sorted_hosts')
        hosts = self._left(left, rows, index, 'get_sorted_hosts')
        return ranking.Ranked(hosts, _weighed(
            hosts, self._request.weights, self._request.weighed))

    def _left(self, before, rows, index, name):
        """The HostBlock of the rows, with what is gone unseen on record."""
        record = self._request.record
        rejected = [rows, *(gone for _, gone in record.rejected())]
        unseen = np.setdiff1d(before.rows, np.concatenate(rejected))
        if len(unseen):
            record.step(index, name, np.concatenate([rows, unseen]), rows)
        return self._hosts.block(rows)

    def _consume(self, uuid, taken, limits):
        self._hosts.mapping = taken.mapping
        # Somebody else may consume more, or less, than what is in flight.
        self._hosts.writes += 1
        self._ask('_consume_selected_host', self._hosts.state(taken.row),
                  self._spec_obj, uuid)


def _weighed(hosts, by_name, last):
    """What the hosts of a HostBlock weigh: weights.Weighed.

    by_name: what they were sorted by, (host, node) -> weight, best first.
    last: Weighed of the weighers, which tells more if it is about the same.
    """
    if last is not None and np.isin(hosts.rows, last.rows).all() and (
            np.array_equal(last.weights, list(by_name.values()), True)):
        return last
    found = [by_name.get(host_states.names_of(state), 0.0)
             for state in hosts.states()]
    none = np.empty((0, len(found)))
    return weights.Weighed(hosts.rows, np.array(found, dtype=np.float64), (),
                           none, none, [], np.arange(len(found)))
