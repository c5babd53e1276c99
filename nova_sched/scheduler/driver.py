"""What a scheduler driver is, and loading the configured one."""

import abc
from importlib import metadata
import inspect

from oslo_log import log as logging
from oslo_utils import importutils
from stevedore import driver as stevedore_driver

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.conf import nearest

LOG = logging.getLogger(__name__)

NAMESPACE = 'nova_sched.scheduler.driver'
_OPTION = '[scheduler] driver'


class Scheduler(abc.ABC):
    """Base class of drivers: decides where instances go.

    A third party adds one by an entry point in the namespace
    ``nova_sched.scheduler.driver``, or by its class path in
    ``[scheduler] driver``.
    """

    #: Whether the driver keeps its hosts in memory between requests and
    #: wants ``run_periodic_tasks`` called.
    PERIODIC = False

    def __init__(self, conf):
        self.conf = conf

    @abc.abstractmethod
    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        """Choose a host for each instance of a request.

        context: RequestContext.  spec_obj: a validated RequestSpec.
        instance_uuids: one text an instance; None from callers that send
            none, then ``spec_obj.num_instances`` counts.
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
    names = driver_names()
    if name not in names and ('.' not in name
                              or name.startswith('nova.scheduler.')):
        raise exception.ConfigurationError(
            _OPTION, name, 'no such driver; '
            + nearest.did_you_mean(name.rsplit('.', 1)[-1], names))
    try:
        if name in names:
            cls = stevedore_driver.DriverManager(
                NAMESPACE, name, invoke_on_load=False).driver
        else:
            cls = importutils.import_class(name)
    except Exception as exc:
        # Another author's module may fail in any way; the operator needs to
        # know which option brought it in.
        raise exception.ConfigurationError(
            _OPTION, name, f'cannot be imported ({exc!r}); use one of '
            f'{", ".join(names)}, or a class path') from exc
    if not (isinstance(cls, type) and issubclass(cls, Scheduler)
            and not inspect.isabstract(cls)):
        raise exception.ConfigurationError(
            _OPTION, name, 'is no driver; it must be a class derived from '
            f'{__name__}.Scheduler, with a select_destinations method')
    return cls


def driver_names():
    """The names of all installed drivers, sorted."""
    return sorted(metadata.entry_points(group=NAMESPACE).names)
