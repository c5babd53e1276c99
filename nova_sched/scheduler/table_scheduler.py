"""What the drivers that decide on the host table have in common."""

import abc
import collections
import random

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import objects
from nova_sched.hosts.decision import Decision
from nova_sched.rules import aggregates as aggregate_values
from nova_sched.scheduler import driver
from nova_sched.scheduler import host_manager

LOG = logging.getLogger(__name__)

#: Decisions kept in memory, newest last.
DECISIONS_KEPT = 100


class TableScheduler(driver.Scheduler):
    """Decides each request on a snapshot read after the request arrived."""

    def __init__(self, conf):
        super().__init__(conf)
        self.host_manager = host_manager.load_host_manager(conf)
        self.decisions = collections.deque(maxlen=DECISIONS_KEPT)
        self._max_attempts = conf.scheduler.max_attempts
        self._default_zone = conf.default_availability_zone

    def start(self):
        self.host_manager.cache.refresh()

    def stop(self):
        self.host_manager.close()

    def update_aggregates(self, aggregates):
        self.host_manager.cache.forget_aggregates()

    def delete_aggregate(self, aggregate):
        self.host_manager.cache.forget_aggregates()

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, candidates=None):
        decision = self._new_decision(context, spec_obj, instance_uuids)
        with decision.timed('state'):
            snapshot = self._snapshot(candidates)
        return self._select(snapshot, spec_obj, instance_uuids,
                            return_alternates, decision)

    def _new_decision(self, context, spec, instance_uuids):
        decision = Decision(
            request_id=context.request_id, instance_uuid=spec.instance_uuid,
            instances=self.count(spec, instance_uuids),
            seed=random.SystemRandom().getrandbits(48))
        self.decisions.append(decision)
        return decision

    def _snapshot(self, candidates):
        """The hosts of one request, as of now: HostSnapshot."""
        return self.host_manager.snapshot(self.host_manager.cache.refresh(),
                                          candidates=candidates)

    @abc.abstractmethod
    def _select(self, snapshot, spec, instance_uuids, return_alternates,
                decision):
        """Choose hosts on one snapshot and fill the decision.

        Arguments and result otherwise as for select_destinations.
        """

    def _selections(self, snapshot, picked, alternates, version=None):
        """Lists of Selection, one an instance: its pick and alternates.

        picked: list of (Taken, limits).  alternates: as many lists of them,
        or none.  version: microversion of the allocation requests.
        """
        return [[self._selection(snapshot, taken, limits, version)
                 for taken, limits in (pick, *others)]
                for pick, others in zip(
                    picked, alternates or [()] * len(picked), strict=True)]

    def _selection(self, snapshot, taken, limits, version):
        state = snapshot.state(taken.row)
        zones = aggregate_values.values(state.aggregates, 'availability_zone')
        return objects.Selection(
            compute_node_uuid=state.uuid or '', service_host=state.host,
            nodename=state.nodename, cell_uuid=state.cell_uuid,
            limits=objects.SchedulerLimits.from_dict(limits),
            allocation_request=taken.on_the_wire(),
            allocation_request_version=version,
            availability_zone=min(zones, default=self._default_zone))

    def _check_count(self, decision, spec):
        if not decision.instances:
            self._no_valid_host(
                decision, spec, 'There are not enough hosts available. The '
                'list of instance uuids is empty')

    def _no_valid_host(self, decision, spec, reason):
        """Log the refusal of a request and raise NoValidHost."""
        self._finish(decision, spec, reason.strip())
        raise exception.NoValidHost(reason=reason)

    @staticmethod
    def _finish(decision, spec, reason=None):
        """Close the record of a request and write its one INFO line."""
        decision.close(reason)
        outcome = f'refused: {reason}' if reason else _placed(decision.picks)
        LOG.info(
            'Request for instance %(uuid)s: %(count)d instance(s) %(outcome)s;'
            ' %(alternates)d alternate(s), %(hosts)d hosts, %(times)s,'
            ' seed %(seed)d',
            {'uuid': spec.instance_uuid, 'count': decision.instances,
             'outcome': outcome, 'alternates': decision.alternates,
             'hosts': decision.hosts, 'seed': decision.seed,
             'times': ', '.join(f'{name} {ms:.1f} ms' for name, ms
                                in decision.milliseconds.items())})


def _placed(picks, shown=10):
    names = ', '.join(pick.host for pick in picks[:shown])
    more = len(picks) - shown
    return f'placed on {names}' + (f' and {more} more' if more > 0 else '')
