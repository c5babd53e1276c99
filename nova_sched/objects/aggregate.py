"""Host aggregates, as in the API's notices of changes."""

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects.fields import Field
from nova_sched.objects.fields import MalformedError


@base.Registry.register
class Aggregate(base.NovaObject, base.DictCompat):
    """A named set of hosts with metadata (text to text)."""

    VERSION = '1.3'
    obj_extra_fields = ['availability_zone', 'metadetails']
    fields = {
        'id': Field(fields.INTEGER),
        'uuid': Field(fields.NAME, since='1.2'),
        'name': Field(fields.TEXT),
        'hosts': Field(fields.list_of(fields.NAME), null=True, unset=list),
        'metadata': Field(fields.dict_of(fields.TEXT), null=True,
                          unset=dict),
        **fields.PERSISTENT,
    }

    @property
    def availability_zone(self):
        """The zone the aggregate makes its hosts part of, or None."""
        return (self.metadata or {}).get('availability_zone')

    @property
    def metadetails(self):
        """The metadata, as rows of ``nova.db`` name it: dict."""
        return dict(self.metadata or {})


@base.Registry.register
class AggregateList(base.NovaObjectList):
    """Aggregates; see Aggregate."""

    VERSION = '1.3'
    fields = fields.objects_of(Aggregate)


_AGGREGATE = fields.nested(Aggregate)
_AGGREGATES = fields.list_of(_AGGREGATE)


def aggregates_from_wire(value, name='aggregates'):
    """Return the aggregates in an RPC argument of any form: list of Aggregate.

    value: an Aggregate, a list of Aggregate or an AggregateList, each as
        object or envelope.  name: the argument's name, for the error.
    Raises InvalidInput, IncompatibleObjectVersion.
    """
    try:
        if isinstance(value, dict) and value.get(
                'nova_object.name') == 'AggregateList':
            value = AggregateList.from_envelope(value)
        if isinstance(value, AggregateList):
            return list(value.objects)
        if isinstance(value, list):
            return _AGGREGATES.read(value)
        return [_AGGREGATE.read(value)]
    except MalformedError as error:
        raise error.under(name).as_invalid_input() from None
