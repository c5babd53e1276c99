"""The door: what callers may ask of the scheduler over RPC.

Wire forms in, wire forms out; every historical form of a request becomes one
``RequestSpec`` here, and the answer takes the form its caller speaks.
"""

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_versionedobjects.exception import IncompatibleObjectVersion

from nova_sched import exception
from nova_sched.objects import arguments
from nova_sched.objects import selection

LOG = logging.getLogger(__name__)

_UNSET = object()

#: What a request may well end in: told to the caller, and to the log in a
#: line without a traceback.
_EXPECTED = (exception.NoValidHost, exception.InvalidInput,
             exception.DatabaseUnavailable, IncompatibleObjectVersion)


class SchedulerManager:
    """RPC endpoint of the scheduler: version 4.5 of Nova's interface.

    driver: a scheduler.driver.Scheduler that has been started.
    """

    target = messaging.Target(version='4.5')

    def __init__(self, driver):
        self.driver = driver

    @messaging.expected_exceptions(*_EXPECTED)
    def select_destinations(self, ctxt, request_spec=None,
                            filter_properties=None, spec_obj=_UNSET,
                            instance_uuids=None, return_objects=False,
                            return_alternates=False):
        """Choose a host for each instance of a request.

        spec_obj: RequestSpec; callers below version 4.3 send the dicts
            request_spec and filter_properties instead.
        instance_uuids: a text per instance, or null from old callers.
        return_objects: False gives one dict an instance (host, nodename,
            limits), True a list of Selection objects an instance.
        return_alternates: with return_objects, other hosts follow the
            selected one in each list.

        Raises NoValidHost when not every instance gets a host, InvalidInput
        when the request is wrong (it names the field),
        IncompatibleObjectVersion for objects of an unknown major version,
        and DatabaseUnavailable.
        """
        try:
            if spec_obj is _UNSET:
                spec = arguments.from_legacy_dicts(request_spec,
                                                 filter_properties)
            else:
                spec = arguments.from_wire(spec_obj)
            arguments.check_instance_uuids(instance_uuids)
            return_objects, return_alternates = (
                arguments.flag('return_objects', return_objects),
                arguments.flag('return_alternates', return_alternates))
            spec.legacy_context = ctxt
            selections = self.driver.select_destinations(
                ctxt, spec, instance_uuids,
                return_alternates=return_objects and return_alternates)
        except exception.NoValidHost:
            # The driver has told the log, with its reasons.
            raise
        except _EXPECTED as exc:
            LOG.error('Request not answered: %s', exc)
            raise
        if return_objects:
            return selection.to_wire(selections, spec.wire_version)
        return selection.to_dicts([chosen[0] for chosen in selections],
                                  spec.wire_version)

    def update_aggregates(self, ctxt, aggregates):
        """Nova's API changed aggregates: have them read again."""
        self.driver.update_aggregates(aggregates)

    def delete_aggregate(self, ctxt, aggregate):
        """Nova's API deleted an aggregate: have them read again."""
        self.driver.delete_aggregate(aggregate)

    def update_instance_info(self, ctxt, host_name, instance_info):
        """A compute service tells which instances it runs.

        Where instances run is read from the database when a request asks, so
        this and its two siblings carry no news.
        """
        LOG.debug('Instances of host %s changed', host_name)

    def delete_instance_info(self, ctxt, host_name, instance_uuid):
        """A compute service tells that an instance left it."""
        LOG.debug('Instance %(uuid)s left host %(host)s',
                  {'uuid': instance_uuid, 'host': host_name})

    def sync_instance_info(self, ctxt, host_name, instance_uuids):
        """A compute service tells the uuids of its instances."""
        LOG.debug('Instances of host %s announced', host_name)


class BaseRPCEndpoint:
    """What every service of Nova answers: is it there."""

    target = messaging.Target(namespace='baseapi', version='1.1')

    def __init__(self, service_name):
        self.service_name = service_name

    def ping(self, ctxt, arg):
        """The argument, and which service answers."""
        return {'service': self.service_name, 'arg': arg}

    def get_backdoor_port(self, ctxt):
        """None: this service listens on no backdoor."""
        return None
