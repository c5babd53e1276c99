"""Calls of drivers that decide on host states."""


from nova_sched.context import RequestContext
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.drivers import hosts_of
from tests.builders.drivers import select
from tests.builders.requests import a_request


def ask(driver, count=1, alternates=False, **request):
    """Call a driver: host names, one list an instance."""
    uuids = [a_uuid() for _ in range(count)]
    return hosts_of(select(
        driver, a_request(num_instances=count, **request), uuids,
        return_alternates=alternates))


def answered(driver, count=1, **request):
    """Call through the RPC endpoint: (host names, the request's record)."""
    endpoint = door(driver)
    found = endpoint.select_destinations(
        RequestContext(), spec_obj=a_request(
            num_instances=count, **request).obj_to_primitive(),
        instance_uuids=[a_uuid() for _ in range(count)],
        return_objects=True)
    [record] = endpoint.recorder.decisions
    return [chosen[0]['nova_object.data']['service_host']
            for chosen in found], record
