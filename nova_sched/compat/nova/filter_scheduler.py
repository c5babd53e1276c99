"""As ``nova.scheduler.filter_scheduler``, to derive a driver from."""

import functools

from nova_sched import weights
from nova_sched.compat import driver_results
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_methods
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.nova import driver
from nova_sched.compat.nova import rpc
from nova_sched.compat.row_api import driver as row_api
from nova_sched.compat.row_api.nova_scheduler import NovaSchedulerMixin
from nova_sched.scheduler import filter_scheduler


class FilterScheduler(driver.Scheduler, NovaSchedulerMixin, row_api.RowApi,
                      filter_scheduler.FilterScheduler):
    """The filter scheduler with arguments of any release up to Wallaby.

    Constructed without arguments.  The service sends its notifications.
    """

    CLAIMS = True
    NOVA_SIGNATURES = ('select_destinations', '_schedule')

    @functools.cached_property
    def options(self):
        """The operator's JSON file: scheduler_options.SchedulerOptions."""
        return self._options

    def _get_configuration_options(self):
        """Return the ``config_options`` of filters: dict.

        Read from ``options``, which a driver may have set.
        """
        return getattr(self.options, 'get_configuration',
                       self._options.get_configuration)()

    @functools.cached_property
    def notifier(self):
        """The Notifier with publisher id scheduler.<host>."""
        return rpc.notifier(self.conf, f'scheduler.{self.conf.host}')

    def select_destinations(self, context, *args, **kwargs):
        """Choose a host for each instance.

        The arguments and the result are those of the driver's release::

            (request_spec, filter_properties)               to Liberty
            (spec_obj)                                      to Ocata
            (spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
             provider_summaries)                            of Pike
            (..., allocation_request_version=None,
             return_alternates=False)                       from Queens

        alloc_reqs_by_rp_uuid: provider uuid -> allocation requests that may
            be claimed; None for no claims, and any host.
        provider_summaries: dict by the uuids of the providers whose hosts may
            be chosen; None for any host, and no claims.
        Returns, for each instance, a dict, from Pike on a HostState, from
        Queens on a list of Selection.
        Raises NoValidHost when not every instance gets a host.
        """
        call, form = driver_signatures.parse_call(
            self.SIGNATURE, *args, **kwargs)
        with driver_signatures.answering(call):
            found = self.as_selections(context, self._schedule(
                context, *call.arguments(self._signature())))
        return self.in_form(form, context, found)

    def _schedule(self, context, *args, **kwargs):
        """Return as select_destinations, with WeighedObjects instead of dicts.
        """
        call, form = driver_signatures.parse_call(
            driver_signatures.PIKE
            if driver_signatures.PIKE in (self._signature(), self.SIGNATURE)
            else self._signature(), *args, **kwargs)
        if call.record is not None and (call.record.picks
                                        or call.record.funnel.steps):
            # The driver schedules the same request a second time.
            call.record.restart()
        found = super().select_destinations(
            context, kilo_mapping.without_mapping(call.spec_obj),
            call.instance_uuids, call.alternates,
            call.offer, call.record)
        call.note_claims(found)
        if form is driver_signatures.QUEENS:
            return found
        states = driver_results.as_states(found, self.states_of(context))
        return states if form is driver_signatures.PIKE else [
            weights.WeighedObject(state, 0.0) for state in states]

    def _attempt(self, request, offer, record):
        """Return an attempt, recorded because an override may fail later."""
        attempt, call = super()._attempt(request, offer, record), (
            driver_signatures.current())
        if call is not driver_signatures.NO_CALL:
            call.attempts.append(attempt)
        return attempt

    @nova_methods.to_call_alone
    def populate_filter_properties(self, request_spec, filter_properties):
        """Set the keys of filter_properties that Kilo's filters read."""
        instance = request_spec['instance_properties']
        filter_properties['project_id'] = instance.get('project_id')
        filter_properties['os_type'] = instance.get('os_type')

    def _signature(self):
        """Return the DriverSignature of its _schedule."""
        return driver_signatures.signature_of(type(self)._schedule)
