"""As ``nova.scheduler.driver``: what a driver of one's own derives from."""

from nova_sched.plugins import nova_form
from nova_sched.plugins.nova import host_manager
from nova_sched.scheduler import driver


class OfNova:
    """In front of a driver's class: made without arguments, as by Nova.

    ``host_manager`` hands out the states of hosts.
    """

    #: See plugins.nova_form.
    MADE_ALONE = True

    def __init__(self, *args, **kwargs):
        super().__init__(self.conf)
        self.host_manager = host_manager.HostManager(self.host_manager)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        nova_form.note_periodic_work(cls)


class Scheduler(OfNova, driver.HostScheduler):
    """Base class of drivers.

    ``select_destinations`` is called with Nova's seven arguments, of Queens
    to Wallaby.
    """
