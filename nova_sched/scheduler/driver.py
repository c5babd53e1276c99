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
    """Base class of drivers: decides where instances go.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.driver``, or by its class path in
    ``[scheduler] driver``.  Making one does no I/O: see ``start``.
    """

    #: Whether the driver keeps its hosts in memory between requests and
    #: wants ``run_periodic_tasks`` called.
    PERIODIC = False
    #: Whether a second process would decide without knowing what the first
    #: one placed; then one worker runs, unless [scheduler] workers says else.
    ONE_PROCESS = True
    #: Whether Placement's candidates are of use to the driver.
    USES_ALLOCATION_CANDIDATES = True
    #: Whether it looks at what Placement says of each provider: what it is
    #: offered has ``summaries`` then.
    WANTS_SUMMARIES = False
    #: Whether it has Placement list candidates (``offer.list_candidates``)
    #: before it refuses a request: only then is it offered those of a copy.
    LISTS_CANDIDATES_LAST = False
    #: Whether notifications are sent of its requests, before it is asked and
    #: once it has answered.
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
        instance_uuids: one text an instance; None from callers that send
            none, then ``spec_obj.num_instances`` counts.
        offer: what Placement offers, a scheduler.offer.Offer.
        record: the Decision of the request, to be filled.
        Returns a list, in the order of the instances, of lists of Selection:
        the selected host and then its alternates, if asked for.
        Raises NoValidHost when not every instance gets a host.
        """

    def check_set_up(self):
        """Check how it is set up, once, in the process that starts workers.

        Raises whatever is wrong with it.
        """

    def start(self):
        """Get ready to decide: called once in each worker, after the fork.

        Raises DatabaseUnavailable when the state cannot be read.
        """

    def share_picks(self, sharing):
        """Have other workers see what is picked, and see what they pick.

        Called once, before ``start``.
        sharing: inventory.shared_picks.Sharing.
        """

    def take_over(self, predecessor):
        """Take from a predecessor what must not be lost.

        Called after ``start``, before this driver serves in its place.

        predecessor: the driver that serves until then, of any class.
        """

    def stop(self):
        """Let go of what ``start`` acquired."""

    def host_count(self):
        """Return how many hosts there are to choose from; None if unknown."""
        return None

    def run_periodic_tasks(self, context):
        """Do what is due every ``[scheduler] periodic_task_interval`` s."""

    def update_aggregates(self, aggregates):
        """Note that aggregates were created or changed."""

    def delete_aggregate(self, aggregate):
        """Note that an aggregate was deleted."""

    @staticmethod
    def count(spec_obj, instance_uuids):
        """Return how many instances a request is for."""
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
        """Have no heartbeats of services read, but which ones are up.

        For drivers that read the hosts for each request, with rules that look
        at nothing else.  A class of somebody else's may look at them.
        """
        if all(classes.is_built_in(kind) or kind in (abc.ABC, object)
               for each in (self, self.host_manager)
               for kind in type(each).__mro__):
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
        """Return what the random generator of a request is seeded with: int.
        """
        return random.SystemRandom().getrandbits(48)

    def opened(self, record, request, offer):
        """Return the record of a SchedulingRequest that is to be decided.

        record: Decision of the caller's, or None for a new one.
        offer: scheduler.offer.Offer.
        """
        record = decision.Decision() if record is None else record
        record.request_id = request.context.request_id
        record.instance_uuid = request.spec_obj.instance_uuid
        record.instances, record.offer = request.count, offer.candidates
        record.seed = request.seed
        return record

    def hosts(self, instances, candidates, record):
        """Return the hosts as of this moment, for one request alone.

        instances: hosts.instances.Instances; earlier picks of its ``own``
            instances do not count.
        candidates: what Placement offers, of hosts.allocation_candidates.
        record: Decision that notes which hosts these are.
        Returns a state.View and a HostSnapshot of it.
        """
        view, now = self.host_manager.view(instances.own), (
            self.host_manager.now())
        record.note_state(decision.State.of(view.table, view.in_flight, now,
                                            instances))
        return view, self.host_manager.snapshot(view.table, instances, now,
                                                candidates)
