"""Compute services."""

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field


@base.Registry.register
class Service(base.NovaObject, base.DictCompat):
    """A row of services."""

    VERSION = '1.22'
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME, null=True, since='1.21'),
        'host': Field(fields.NAME, null=True),
        'binary': Field(fields.TEXT, null=True),
        'topic': Field(fields.TEXT, null=True),
        'report_count': Field(fields.INTEGER),
        'disabled': Field(fields.BOOLEAN, unset=False),
        'disabled_reason': Field(fields.TEXT, null=True),
        'forced_down': Field(fields.BOOLEAN, unset=False),
        'last_seen_up': Field(fields.DATETIME, null=True),
        'version': Field(fields.INTEGER),
        **fields.PERSISTENT,
    }


@base.Registry.register
class ServiceList(base.NovaObjectList):
    """Services; see Service."""

    VERSION = '1.19'
    fields = fields.objects_of(Service)
