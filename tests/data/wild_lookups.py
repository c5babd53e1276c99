"""Plug-ins that look up nodes, services and instances by Nova's objects."""

from nova import db
from nova import exception
from nova import objects
from nova.compute import api
from nova.compute import provider_tree  # noqa: F401
from nova.objects import service as service_obj
from nova.scheduler import filters
from nova.scheduler import weights


def _other(spec_obj):
    return spec_obj.get_scheduler_hint('beside')


class FewerInstancesFilter(filters.BaseHostFilter):
    """Hosts with at most as many instances as another one."""

    def host_passes(self, host_state, spec_obj):
        context = spec_obj._context.elevated()
        there = objects.InstanceList.get_by_host(context, _other(spec_obj))
        here = objects.InstanceList.get_by_filters(
            context, {'host': host_state.host, 'deleted': False})
        return len(here) <= len(there)


class ServersOfProjectFilter(filters.BaseHostFilter):
    """Hosts without servers of the request's project, as of Kilo."""

    def host_passes(self, host_state, filter_properties):
        context = filter_properties['context'].elevated()
        return not any(
            row['project_id'] == context.project_id for row
            in db.instance_get_all_by_host(context, host_state.host))


class BesideInstanceFilter(filters.BaseHostFilter):
    """The host of the instance that a hint names."""

    def host_passes(self, host_state, spec_obj):
        try:
            instance = objects.Instance.get_by_uuid(
                spec_obj._context, _other(spec_obj))
        except exception.InstanceNotFound:
            return False
        return instance.host == host_state.host


class YoungerServiceFilter(filters.BaseHostFilter):
    """Hosts with a service at least as new as another host's."""

    def host_passes(self, host_state, spec_obj):
        get = service_obj.Service.get_by_compute_host
        context = spec_obj._context
        return (get(context, host_state.host).version
                >= get(context, _other(spec_obj)).version)


class ShareOfRamWeigher(weights.BaseHostWeigher):
    """The host with the biggest share of the memory of all."""

    def _weigh_object(self, host_state, weight_properties):
        context = weight_properties._context
        node = objects.ComputeNode.get_by_host_and_nodename(
            context, host_state.host, host_state.nodename)
        return node.memory_mb / sum(
            each.memory_mb for each
            in objects.ComputeNodeList.get_all(context))


class RoomierFilter(filters.BaseHostFilter):
    """Hosts with fewer instances than the fullest one, by Nova's APIs."""

    def host_passes(self, host_state, spec_obj):
        context, hosts = spec_obj._context, api.HostAPI()
        most = max(
            len(hosts.instance_get_all_by_host(context, service.host))
            for service in hosts.service_get_all(
                context, filters={'disabled': False}))
        own = api.API().get_all(context, {'host': host_state.host})
        service = hosts.service_get_by_compute_host(context, host_state.host)
        assert service.host == host_state.host
        assert len(hosts.compute_node_get_all(context)) == 3
        return len(own) < most
