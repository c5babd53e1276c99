"""As ``nova.scheduler.driver``: the base class of drivers."""

import functools

from nova_sched import exception
from nova_sched.compat import driver_results
from nova_sched.compat import driver_signatures
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import host_manager
from nova_sched.compat.nova import servicegroup
from nova_sched.scheduler import driver


class Scheduler(driver.HostScheduler):
    """Base class of drivers, constructed without arguments, as in Nova.

    ``select_destinations`` is called with the arguments of its release, see
    driver_signatures.  ``host_manager`` returns the states of hosts;
    ``servicegroup_api`` returns whether a service is up.
    """

    #: See driver_signatures.
    NO_ARG_CONSTRUCTOR = True
    #: Whether the driver claims although it receives no candidates.
    CLAIMS = False

    def __new__(cls, *args, **kwargs):
        made, conf = super().__new__(cls), nova_conf.given(args)
        # First: an __init__ as documented may not call its base class's.
        super().__init__(made, conf)
        made.host_manager = host_manager.of_nova(conf, made.host_manager)
        made.servicegroup_api = servicegroup.API(
            conf=conf, now=made.host_manager.now)
        return made

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        driver_signatures.note_periodic_work(cls)

    def check_set_up(self):
        super().check_set_up()
        # The driver may have constructed a second host manager.
        self.host_manager.check_set_up()

    def hosts_up(self, context, topic):
        """Return the names of hosts with an enabled service that is up: list.

        topic: of the service; empty for any other than ``compute``.
        """
        if topic != 'compute':
            return []
        return list(dict.fromkeys(
            state.host for state
            in self.host_manager.get_all_host_states(context)
            if not state.service['disabled']
            and self.servicegroup_api.service_is_up(state.service)))

    def states_of(self, context):
        """Return a function that returns the states of all hosts."""
        return functools.partial(self.host_manager.get_all_host_states,
                                 context)

    def in_form(self, form, context, found):
        """Return lists of Selection in the result form of a release.

        form: driver_signatures.DriverSignature of the release.
        """
        if form is driver_signatures.QUEENS:
            return found
        if form is driver_signatures.PIKE:
            return driver_results.as_states(found, self.states_of(context))
        return driver_results.as_dicts(found)

    def as_selections(self, context, found):
        """Return the result of a driver of any release as lists of Selection.

        Elements beyond the number of instances are left out, as Nova does.
        Raises NoValidHost for fewer elements.
        """
        found = driver_results.as_selections(
            found or [], self.states_of(context), type(self).__name__)
        call = driver_signatures.current()
        wanted = self.count(call.spec_obj, call.instance_uuids)
        placed = list(filter(None, found[:wanted]))
        if len(placed) < wanted:
            raise exception.NoValidHost(
                reason=f'{exception.NoValidHost.nova} {len(placed)} of '
                f'{wanted} instances could be placed')
        return placed
