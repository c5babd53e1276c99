"""What a scheduler driver is, and loading the configured one."""

import abc

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.plugins import kinds

LOG = logging.getLogger(__name__)


class Scheduler(abc.ABC):
    """Base class of drivers: decides where instances go.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.driver``, or by its class path in
    ``[scheduler] driver``.
    """

    #: Whether the driver keeps its hosts in memory between requests and
    #: wants ``run_periodic_tasks`` called.
    PERIODIC = False
    #: Whether Placement's candidates are of use to the driver.
    USES_ALLOCATION_CANDIDATES = True

    def __init__(self, conf):
        self.conf = conf

    @abc.abstractmethod
    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False, candidates=None):
        """Choose a host for each instance of a request.

        context: RequestContext.  spec_obj: a validated RequestSpec.
        instance_uuids: one text an instance; None from callers that send
            none, then ``spec_obj.num_instances`` counts.
        candidates: candidates.Candidates; None if Placement was not asked.
        Returns a list, in the order of the instances, of lists of Selection:
        the selected host and then its alternates, if asked for.
        Raises NoValidHost when not every instance gets a host.
        """

    def start(self):
        """Get ready to decide: called once in each worker, after the fork.

        Raises DatabaseUnavailable when the state cannot be read.
        """

    def take_over(self, predecessor):
        """Called before serving in place of another driver, after start;
        take from it what must not be lost.

        predecessor: the driver that serves until then, of any class.
        """

    def stop(self):
        """Let go of what ``start`` acquired."""

    def run_periodic_tasks(self, context):
        """Called every ``[scheduler] periodic_task_interval`` seconds."""

    def update_aggregates(self, aggregates):
        """Aggregates were created or changed."""

    def delete_aggregate(self, aggregate):
        """An aggregate was deleted."""

    @staticmethod
    def count(spec_obj, instance_uuids):
        """How many instances a request is for."""
        if instance_uuids is None:
            return spec_obj.num_instances
        return len(instance_uuids)


_DRIVER = kinds.Kind(
    '[scheduler] driver', 'nova_sched.scheduler.driver', 'driver', Scheduler,
    ', with a select_destinations method')


def load_driver(conf):
    """The driver that ``[scheduler] driver`` names, constructed.

    Raises ConfigurationError for a name that cannot be loaded.
    """
    name = config.driver_name(conf)
    LOG.debug('Loading scheduler driver %s', name)
    return driver_class(name)(conf)


def driver_class(name):
    """The driver class of an entry point name or a class path.

    Raises ConfigurationError when there is none, or when it is no driver.
    """
    return _DRIVER.load(name)


def driver_names():
    """The names of all installed drivers, sorted."""
    return _DRIVER.names()
