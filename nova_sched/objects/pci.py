"""PCI devices in a request."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError


@base.Registry.register
class InstancePCIRequest(base.NovaObject, base.DictCompat):
    """A number of devices that match any of the specifications.

    spec: list of dicts, device property -> required value.  alias_name: None
    for the request of a Neutron port.
    """

    VERSION = '1.4'
    fields = {
        'count': Field(fields.SIZE),
        'spec': Field(
            fields.list_of(fields.dict_of(fields.TEXT, null=True)),
            unset=list),
        'alias_name': Field(fields.TEXT, null=True),
        'is_new': Field(fields.BOOLEAN, unset=False),
        'request_id': Field(fields.NAME, null=True),
        'requester_id': Field(fields.TEXT, null=True, since='1.3'),
        'numa_policy': Field(
            fields.one_of(('required', 'legacy', 'preferred', 'socket')),
            null=True, since='1.2'),
    }


@base.Registry.register
class InstancePCIRequests(base.NovaObject, base.DictCompat):
    """All PCI requests of one instance."""

    VERSION = '1.1'
    fields = {
        'instance_uuid': Field(fields.NAME, null=True),
        'requests': Field(
            fields.list_of(fields.nested(InstancePCIRequest),
                           bounds.PCI_REQUESTS), unset=list),
    }


def requests_from_any(value):
    """Return the InstancePCIRequests of a value in any historical form.

    value: None; an object or its envelope; a flat dict
        {instance_uuid, requests: [...]}; a plain list of request dicts; JSON
        text of any of these.
    Raises MalformedError, IncompatibleObjectVersion.
    """
    value = fields.from_json_text(value)
    if value is None or isinstance(value, InstancePCIRequests):
        return value
    if isinstance(value, list):
        value = {'requests': value}
    if not isinstance(value, dict):
        raise MalformedError(value, 'must be PCI requests')
    if 'nova_object.name' in value:
        return InstancePCIRequests.from_envelope(value)
    with fields.at('requests'):
        requests = _REQUESTS.read(value.get('requests') or [])
    return InstancePCIRequests.from_data(
        {**value, 'requests': requests}, '1.1')


def _request_from_any(request):
    if not isinstance(request, dict):
        raise MalformedError(request, 'must be a PCI request')
    if 'nova_object.name' in request:
        return InstancePCIRequest.from_envelope(request)
    return InstancePCIRequest.from_data(request, '1.1')


_REQUESTS = fields.list_of(
    fields.Kind(_request_from_any), bounds.PCI_REQUESTS)
