"""Drivers as operators of Kilo, Mitaka and Pike have written them."""

from nova import exception
from nova import objects
from nova.scheduler import driver
from nova.scheduler import filter_scheduler


class KiloScheduler(driver.Scheduler):
    """The first hosts that are up and not to be ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.given = []

    def select_destinations(self, context, request_spec, filter_properties):
        self.given.append((request_spec, filter_properties))
        elevated = context.elevated()
        hosts = [host for host in self.hosts_up(elevated, 'compute')
                 if host not in filter_properties.get('ignore_hosts', [])]
        count = request_spec['num_instances']
        if not hosts:
            raise exception.NoValidHost(reason='none is up')
        return [{'host': host, 'nodename': None, 'limits': {'memory_mb': 7}}
                for host in hosts[:count]]


class KiloFilterScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler, but never on host a."""

    def select_destinations(self, context, request_spec, filter_properties):
        filter_properties = dict(filter_properties, ignore_hosts=['a'])
        return super().select_destinations(
            context, request_spec, filter_properties)


class KiloStepsScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler, without what _schedule puts first."""

    def _schedule(self, context, request_spec, filter_properties):
        self.weighed = super()._schedule(
            context, request_spec, filter_properties)
        return self.weighed


class KiloPackingScheduler(driver.Scheduler):
    """The host with the most free memory, as each instance leaves them."""

    def select_destinations(self, context, request_spec, filter_properties):
        hosts = list(self.host_manager.get_all_host_states(context))
        properties = request_spec['instance_properties']
        found = []
        for _ in range(request_spec['num_instances']):
            host = max(hosts, key=lambda host: host.free_ram_mb)
            host.consume_from_instance(properties)
            found.append({'host': host.host, 'nodename': host.nodename,
                          'limits': host.limits})
        return found


class KiloOptionsScheduler(filter_scheduler.FilterScheduler):
    """Reads the operator's JSON file by itself."""

    def select_destinations(self, context, request_spec, filter_properties):
        self.read = self.options.get_configuration()
        return super().select_destinations(
            context, request_spec, filter_properties)


class ForgetfulScheduler(driver.Scheduler):
    """Does not call its base class's constructor."""

    def __init__(self):
        self.given = []

    def select_destinations(self, context, request_spec, filter_properties):
        state = next(self.host_manager.get_all_host_states(context))
        self.given.append(state.host)
        return [{'host': state.host, 'nodename': state.nodename,
                 'limits': {}}]


class MitakaScheduler(driver.Scheduler):
    """The last host by name."""

    def select_destinations(self, context, spec_obj):
        states = list(self.host_manager.get_all_host_states(context))
        return [{'host': states[-1].host, 'nodename': states[-1].nodename,
                 'limits': {}} for _ in range(spec_obj.num_instances)]


class MitakaFilterScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler; keeps its answers."""

    def select_destinations(self, context, spec_obj):
        self.answers = super().select_destinations(context, spec_obj)
        return self.answers


class MovingScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler; changes its answers to host c."""

    def select_destinations(self, context, spec_obj):
        found = super().select_destinations(
            context, spec_obj)
        return [dict(one, host='c', nodename='c') for one in found]


class MovingPikeScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler of Pike; changes its answers to host c."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries):
        found = super().select_destinations(
            context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
            provider_summaries)
        states = self.host_manager.get_all_host_states(context)
        return [next(state for state in states if state.host == 'c')
                for _ in found]


class MovingAloneScheduler(MovingScheduler):
    """The same without allocation candidates, as in its release."""

    USES_ALLOCATION_CANDIDATES = False


class GenerousScheduler(driver.Scheduler):
    """Answers with one host more than there are instances."""

    def select_destinations(self, context, spec_obj):
        return [{'host': host, 'nodename': host, 'limits': {}} for host
                in 'abc'[:spec_obj.num_instances + 1]]


class OddStepsScheduler(filter_scheduler.FilterScheduler):
    """Its _schedule has arguments that no release gave it."""

    def _schedule(self, request):
        return super()._schedule(request)


class OddScheduler(driver.Scheduler):
    """Its select_destinations has arguments of no release."""

    def select_destinations(self):
        return []


class LostScheduler(driver.Scheduler):
    """Selects an unknown host."""

    def select_destinations(self, context, spec_obj):
        return [{'host': 'z', 'nodename': 'z', 'limits': {}}]


class ShortScheduler(driver.Scheduler):
    """Finds no host and returns an empty list."""

    def select_destinations(self, context, spec_obj):
        return []


class EmptyScheduler(driver.Scheduler):
    """Finds a host for the first instance alone, in Queens' form."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries,
                            allocation_request_version=None,
                            return_alternates=False):
        first = next(self.host_manager.get_all_host_states(context))
        return [[objects.Selection.from_host_state(first)]] + [
            [] for _ in instance_uuids[1:]]


class PikeScheduler(driver.Scheduler):
    """Always selects host b."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries):
        [state] = [state for state in
                   self.host_manager.get_all_host_states(context)
                   if state.host == 'b']
        return [state for _ in instance_uuids]


class PikeFilterScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler of Pike; keeps arguments and answers."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries):
        self.given = alloc_reqs_by_rp_uuid, provider_summaries
        self.answers = super().select_destinations(
            context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
            provider_summaries)
        return self.answers


class ReversingScheduler(filter_scheduler.FilterScheduler):
    """The filter scheduler of Queens; reverses its lists of hosts."""

    def _schedule(self, context, spec_obj, instance_uuids,
                  alloc_reqs_by_rp_uuid, provider_summaries,
                  allocation_request_version=None, return_alternates=False):
        found = super()._schedule(
            context, spec_obj, instance_uuids, alloc_reqs_by_rp_uuid,
            provider_summaries, allocation_request_version,
            return_alternates)
        return [list(reversed(chosen)) for chosen in found]


class KiloWholeScheduler(filter_scheduler.FilterScheduler):
    """Copied from Kilo: answers with _schedule's hosts and limits."""

    def select_destinations(self, context, request_spec, filter_properties):
        hosts = self._schedule(context, request_spec, filter_properties)
        self.limits = [host.obj.limits for host in hosts]
        return [{'host': host.obj.host, 'nodename': host.obj.nodename,
                 'limits': host.obj.limits} for host in hosts]


class KiloWritingScheduler(filter_scheduler.FilterScheduler):
    """Changes its arguments in place."""

    def select_destinations(self, context, request_spec, filter_properties):
        request_spec['instance_type']['memory_mb'] = 10 ** 7
        return super().select_destinations(
            context, request_spec, filter_properties)


class PikeWholeScheduler(filter_scheduler.FilterScheduler):
    """Copied from Pike: answers with _schedule's host states."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            alloc_reqs_by_rp_uuid, provider_summaries):
        hosts = self._schedule(context, spec_obj, instance_uuids,
                               alloc_reqs_by_rp_uuid, provider_summaries)
        self.names = [host.host for host in hosts]
        return hosts


class OcataScheduler(driver.Scheduler):
    """Reads its hosts by two arguments."""

    def select_destinations(self, context, spec_obj):
        states = self.host_manager.get_host_states_by_uuids(context, None)
        first = next(iter(states))
        return [{'host': first.host, 'nodename': first.nodename,
                 'limits': {}}] * spec_obj.num_instances
