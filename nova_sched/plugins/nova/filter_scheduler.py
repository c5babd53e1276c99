"""As ``nova.scheduler.filter_scheduler``, to derive a driver from."""

import dataclasses
import functools

from nova_sched.hosts import offer
from nova_sched.plugins import nova_form
from nova_sched.plugins.nova import driver
from nova_sched.plugins.nova import rpc
from nova_sched.scheduler import filter_scheduler


class FilterScheduler(driver.OfNova, filter_scheduler.FilterScheduler):
    """The filter scheduler, asked as by Nova of Queens to Wallaby.

    Made without arguments.  It is told of by notifications as ever, without
    a driver's doing.
    """

    @functools.cached_property
    def notifier(self):
        """Sends notifications as scheduler.<host>."""
        return rpc.notifier(self.conf, f'scheduler.{self.conf.host}')

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        """Choose a host for each instance: a list of Selection each.

        alloc_reqs_by_rp_uuid: provider uuid -> allocation requests that may
            be claimed; None for no claims, and any host.
        provider_summaries: by the uuids of the providers whose hosts may be
            chosen; None for any host, and no claims.
        Raises NoValidHost when not every instance gets a host.
        """
        call = nova_form.current()
        if call is nova_form.NOBODY:
            raise RuntimeError(
                'select_destinations was called in another thread than the '
                'one that was asked; call it there by '
                'contextvars.copy_context().run')
        offered = call.offer
        if alloc_reqs_by_rp_uuid is None or provider_summaries is None:
            offered = offer.NOT_ASKED
        elif offered.asked:
            offered = dataclasses.replace(
                offered, by_provider=alloc_reqs_by_rp_uuid,
                providers=frozenset(provider_summaries),
                version=allocation_request_version or offered.version)
        _begin_anew(call.record)
        return super().select_destinations(
            context, spec_obj, instance_uuids, return_alternates, offered,
            call.record)


def _begin_anew(record):
    """Have the record of a request that was tried before be of this try.

    All claims stay on it: they may have to be given back.
    """
    if record is not None and (record.picks or record.steps):
        claims = list(record.claims)
        record.restart()
        record.claims.extend(claims)
