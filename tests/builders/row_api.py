"""Asking drivers whose requests are decided host state by host state."""



from nova_sched.context import RequestContext
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.drivers import hosts_of
from tests.builders.drivers import select
from tests.builders.requests import a_request


def ask(driver, count=1, alternates=False, **request):
    """Names of the hosts of an answer, one list an instance."""
    uuids = [a_uuid() for _ in range(count)]
    return hosts_of(select(
        driver, a_request(num_instances=count, **request), uuids,
        return_alternates=alternates))


def answered(driver, count=1, **request):
    """The same through the RPC endpoint, and the request's record."""
    endpoint = door(driver)
    found = endpoint.select_destinations(
        RequestContext(), spec_obj=a_request(
            num_instances=count, **request).obj_to_primitive(),
        instance_uuids=[a_uuid() for _ in range(count)],
        return_objects=True)
    [record] = endpoint.recorder.decisions
    return [chosen[0]['nova_object.data']['service_host']
            for chosen in found], record
