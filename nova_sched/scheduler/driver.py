"""Base classes of scheduler drivers."""

import abc
import random

from oslo_log import log as logging

from nova_sched.hosts import decision
from nova_sched.plugins import classes
from nova_sched.scheduler import host_manager
from nova_sched.scheduler.offer import NO_OFFER

LOG = logging.getLogger(__name__)


class Scheduler(abc.ABC):
    """Base class of drivers, which choose hosts for instances.

    A third party adds a driver by an entry point in the namespace
    ``nova_sched.scheduler.driver``, or by its class path in
    ``[scheduler] driver``.  The constructor must not do I/O: see ``start``.
    """

    #: Whether the driver keeps its hosts in memory between requests and needs
    #: ``run_periodic_tasks``.
    PERIODIC = False
    #: Whether worker processes do not see each other's picks.  Then one worker
    #: runs, unless ``[scheduler] workers`` is set.
    ONE_PROCESS = True
    #: Whether the driver uses Placement's allocation candidates.
    USES_ALLOCATION_CANDIDATES = True
    #: Whether the driver uses Placement's provider summaries (``summaries`` of
    #: the candidates).
    WANTS_SUMMARIES = False
    #: Whether the driver has Placement list candidates
    #: (``offer.list_candidates``) before it refuses a request.  Only then are
    #: its first candidates from the mirror.
    LISTS_CANDIDATES_LAST = False
    #: Whether the service sends notifications about the driver's requests.
    NOTIFIES = False
    #: Its scheduler.host_manager.HostManager; None for a driver without one.
    host_manager = None

    def __init__(self, conf):
        self.conf = conf

    @abc.abstractmethod
    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=NO_OFFER, record=None):
        """Choose a host for each instance of a request.

        context: RequestContext.  spec_obj: a validated RequestSpec.
        instance_uuids: one text an instance; None from old callers, where
            ``spec_obj.num_instances`` counts.
        offer: scheduler.offer.Offer, the candidates of Placement.
        record: the Decision to fill.
        Returns a list, in the order of the instances, of lists of Selection:
        the selected host and its alternates, if requested.
        Raises NoValidHost when not every instance gets a host.
        """

    def check_set_up(self):
        """Check the driver's configuration, once, before workers are forked.

        Raises an exception, of any class, if it is invalid.
        """

    def start(self):
        """Prepare for requests; called once in each worker, after the fork.

        Raises DatabaseUnavailable when the hosts cannot be read.
        """

    def share_picks(self, sharing):
        """Share picks with the other workers; called once, before ``start``.

        sharing: inventory.shared_picks.Sharing.
        """

    def take_over(self, predecessor):
        """Take over the picks of the driver in use, at a reload.

        Called after ``start``, before this driver serves.
        predecessor: the driver in use, of any class.
        """

    def stop(self):
        """Release the resources that ``start`` acquired."""

    def host_count(self):
        """Return the number of hosts to choose from; None if unknown."""
        return None

    def run_periodic_tasks(self, context):
        """Do periodic work, every [scheduler] periodic_task_interval seconds.
        """

    def update_aggregates(self, aggregates):
        """Note that aggregates were created or changed."""

    def delete_aggregate(self, aggregate):
        """Note that an aggregate was deleted."""

    @staticmethod
    def count(spec_obj, instance_uuids):
        """Return the number of instances of a request."""
        if instance_uuids is None:
            return spec_obj.num_instances
        return len(instance_uuids)


class HostScheduler(Scheduler):
    """Base class of drivers that decide on the hosts of a host manager."""

    def __init__(self, conf):
        super().__init__(conf)
        self.host_manager = host_manager.load_host_manager(conf)
        self._max_attempts = conf.scheduler.max_attempts
        self._default_zone = conf.default_availability_zone

    def skip_heartbeats(self):
        """Do not read the heartbeats of services, only whether they are up.

        For drivers that read the hosts for each request, with rules that need
        no heartbeats.  Classes of third parties may need them.
        """
        if all(classes.is_built_in(kind) or kind in (abc.ABC, object)
               for owner in (self, self.host_manager)
               for kind in type(owner).__mro__):
            self.host_manager.skip_heartbeats()

    def share_picks(self, sharing):
        self.host_manager.share_picks(sharing)

    def start(self):
        self.host_manager.refresh()

    def stop(self):
        self.host_manager.close()

    def host_count(self):
        return self.host_manager.count()

    def update_aggregates(self, aggregates):
        self.host_manager.forget_aggregates()

    def delete_aggregate(self, aggregate):
        self.host_manager.forget_aggregates()

    def new_seed(self):
        """Return the seed of a request's random generator: int."""
        return random.SystemRandom().getrandbits(48)

    def opened(self, record, request, offer):
        """Return the record of a request, with the request's data filled in.

        record: the caller's Decision, or None to create one.
        request: SchedulingRequest.  offer: scheduler.offer.Offer.
        """
        record = decision.Decision() if record is None else record
        record.request_id = request.context.request_id
        record.instance_uuid = request.spec_obj.instance_uuid
        record.instances, record.offer = request.count, offer.candidates
        record.seed = request.seed
        return record

    def hosts(self, instances, candidates, record):
        """Return a private snapshot of the current hosts for one request.

        instances: hosts.instances.Instances; earlier picks of its ``own``
            instances do not count.
        candidates: Placement's candidates (hosts.allocation_candidates).
        record: Decision that records the state.
        Returns a state.View and a HostSnapshot of it.
        """
        view, now = self.host_manager.view(instances.own), (
            self.host_manager.now())
        record.note_state(decision.State.of(view.table, view.in_flight, now,
                                            instances))
        return view, self.host_manager.snapshot(view.table, instances, now,
                                                candidates)
