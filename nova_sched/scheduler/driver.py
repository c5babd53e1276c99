"""What a scheduler driver is, and loading the configured one."""

import abc
import functools
import inspect
import random

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.hosts import decision
from nova_sched.hosts import offer as placement_offer
from nova_sched.plugins import classes
from nova_sched.plugins import nova_form
from nova_sched.plugins import nova_methods
from nova_sched.plugins import nova_names
from nova_sched.scheduler import host_manager

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
    #: Whether notifications are sent of its requests, before it is asked and
    #: once it has answered.
    NOTIFIES = False
    #: What is asked through a method of Nova's, and in place of which.
    NOVA_METHODS = nova_methods.DRIVER

    def __init__(self, conf):
        self.conf = conf

    @abc.abstractmethod
    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False,
                            offer=placement_offer.NOT_ASKED, record=None):
        """Choose a host for each instance of a request.

        context: RequestContext.  spec_obj: a validated RequestSpec.
        instance_uuids: one text an instance; None from callers that send
            none, then ``spec_obj.num_instances`` counts.
        offer: what Placement offers, a value of hosts.offer.  record: the
            Decision of the request, to be filled.  A driver that takes
            neither is given neither.
        Returns a list, in the order of the instances, of lists of Selection:
        the selected host and then its alternates, if asked for.
        Raises NoValidHost when not every instance gets a host.
        """

    def check_set_up(self):
        """Called once when it is made, in the process that starts workers.

        Raises whatever is wrong with it.
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

    def host_count(self):
        """How many hosts there are to choose from; None if unknown."""
        return None

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


class HostScheduler(Scheduler):
    """Base class of drivers that decide on the hosts of a host manager."""

    def __init__(self, conf):
        super().__init__(conf)
        self.host_manager = host_manager.load_host_manager(conf)
        self._max_attempts = conf.scheduler.max_attempts
        self._default_zone = conf.default_availability_zone

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

    def opened(self, record, context, wanted, offer):
        """The record of a request that is about to be decided.

        record: Decision of the caller's, or None for a new one.
        """
        record = decision.Decision() if record is None else record
        record.request_id = context.request_id
        record.instance_uuid = wanted.spec_obj.instance_uuid
        record.instances, record.offer = wanted.count, offer
        record.seed = record.seed or random.SystemRandom().getrandbits(48)
        return record

    def hosts(self, wanted, found, record):
        """The hosts as they are at this moment, for one request alone.

        found: Instances.  The record notes which they are.
        Returns a picks.View and a HostSnapshot of it.
        """
        view = self.host_manager.view(wanted.keys())
        record.clock = self.host_manager.now()
        record.reads, record.lost = view.table.cells.reads, (
            view.table.cells.lost)
        record.in_flight = view.in_flight
        record.hosts = view.table.size
        record.names = (view.table.columns['host'],
                        view.table.columns['nodename'])
        return view, self.host_manager.snapshot(
            view.table, found, record.clock, record.offer)


def extras(driver, **values):
    """Those of the values that a driver's select_destinations takes: dict.

    Third parties' need take no more than what ``Scheduler`` says without a
    default, and return_alternates.
    """
    method = driver.select_destinations
    names = _parameters(getattr(method, '__func__', method))
    if names is None:
        return values
    return {name: value for name, value in values.items() if name in names}


@functools.lru_cache(maxsize=16)
def _parameters(function):
    """The names of a function's parameters; None if it takes any."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD
           for parameter in parameters.values()):
        return None
    return frozenset(parameters)


_DRIVER = classes.Kind(
    '[scheduler] driver', 'nova_sched.scheduler.driver', 'driver', Scheduler,
    ', with a select_destinations method', 'nova.scheduler.driver')


def load_driver(conf):
    """The driver that ``[scheduler] driver`` names, constructed.

    Raises ConfigurationError for a name that cannot be loaded, and for a
    driver that cannot be set up.
    """
    name = config.driver_name(conf)
    LOG.debug('Loading scheduler driver %s', name)
    nova_names.provide(conf)
    cls = driver_class(name)
    return classes.set_up(lambda: _DRIVER.checked(cls(conf)), _DRIVER.option,
                          name)


def driver_class(name):
    """The driver class of an entry point name or a class path.

    That of one in Nova's form is made of it, see plugins.nova_form.
    Raises ConfigurationError when there is none, or when it is no driver.
    """
    return nova_form.served(_DRIVER.load(name), _DRIVER.option)
