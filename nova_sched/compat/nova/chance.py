"""As ``nova.scheduler.chance``, to derive a driver from."""

from nova_sched.compat import driver_signatures
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.nova import driver
from nova_sched.scheduler import chance


class ChanceScheduler(driver.Scheduler, chance.ChanceScheduler):
    """The chance scheduler with arguments of any release up to Wallaby.

    Constructed without arguments.
    """

    def select_destinations(self, context, *args, **kwargs):
        """Draw a host for each instance; see filter_scheduler."""
        call, form = driver_signatures.parse_call(
            self.SIGNATURE, *args, **kwargs)
        return self.in_form(form, context, super().select_destinations(
            context, kilo_mapping.without_mapping(call.spec_obj),
            call.instance_uuids, call.alternates, call.offer, call.record))
