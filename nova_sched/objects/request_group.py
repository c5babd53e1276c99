"""Resources a request needs beside its flavor: ports, devices."""

from nova_sched.objects import base
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects.fields import Field

_NAMES = fields.set_of(fields.NAME, bounds.GROUP_NAMES)
_NAME_LISTS = fields.list_of(
    fields.list_of(fields.NAME, bounds.GROUP_NAMES), bounds.GROUP_NAMES)


@base.Registry.register
class RequestGroup(base.NovaObject):
    """Amounts per resource class and traits wanted of one provider."""

    VERSION = '1.3'
    fields = {
        'use_same_provider': Field(fields.BOOLEAN, unset=True),
        'resources': Field(
            fields.dict_of(fields.SIZE, most=bounds.GROUP_NAMES), unset=dict),
        'required_traits': Field(_NAMES, unset=set),
        'forbidden_traits': Field(_NAMES, unset=set),
        'aggregates': Field(_NAME_LISTS, unset=list),
        'forbidden_aggregates': Field(_NAMES, unset=set, since='1.3'),
        'requester_id': Field(fields.TEXT, null=True, since='1.1'),
        'provider_uuids': Field(
            fields.list_of(fields.NAME, bounds.GROUP_NAMES), unset=list,
            since='1.1'),
        'in_tree': Field(fields.NAME, null=True, since='1.2'),
    }


@base.Registry.register
class RequestLevelParams(base.NovaObject):
    """Traits of the root provider and groups that belong together."""

    VERSION = '1.1'
    fields = {
        'root_required': Field(_NAMES, unset=set),
        'root_forbidden': Field(_NAMES, unset=set),
        'same_subtree': Field(_NAME_LISTS, unset=list, since='1.1'),
    }
