"""As ``nova.scheduler.driver``: what a driver of one's own derives from."""

import functools

from nova_sched import exception
from nova_sched.compat import driver_results
from nova_sched.compat import driver_signatures
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import host_manager
from nova_sched.compat.nova import servicegroup
from nova_sched.scheduler import driver


class OfNova:
    """In front of a driver's class: made without arguments, as by Nova.

    ``host_manager`` hands out the states of hosts, ``servicegroup_api`` says
    which services are up.
    """

    #: See plugins.driver_signatures.
    NO_ARG_CONSTRUCTOR = True
    #: Whether it claims even if it is not told what Placement offers.
    CLAIMS = False

    def __new__(cls, *args, **kwargs):
        made, conf = super().__new__(cls), nova_conf.given(args)
        # Before its __init__, which may be as printed and call no other.
        super().__init__(made, conf)
        made.host_manager = host_manager.of_nova(conf, made.host_manager)
        made.servicegroup_api = servicegroup.ServiceGroup(
            conf, made.host_manager.now)
        return made

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        driver_signatures.note_periodic_work(cls)

    def check_set_up(self):
        super().check_set_up()
        # It may have made another one than the service has checked.
        self.host_manager.check_set_up()

    def hosts_up(self, context, topic):
        """Return names of the hosts whose service is up and enabled: list.

        topic: of the service; only that of ``compute`` is known here.
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
        """Return lists of Selection as a release's driver answers.

        form: driver_signatures.DriverSignature of the release.
        """
        if form is driver_signatures.QUEENS:
            return found
        if form is driver_signatures.PIKE:
            return driver_results.as_states(found, self.states_of(context))
        return driver_results.as_dicts(found)

    def as_selections(self, context, found):
        """Return what any release's driver answers, as lists of Selection.

        What are more than there are instances is left out, as by callers.
        Raises NoValidHost for less.
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


class Scheduler(OfNova, driver.HostScheduler):
    """Base class of drivers.

    ``select_destinations`` is called with the arguments of its release, see
    plugins.driver_signatures.
    """
