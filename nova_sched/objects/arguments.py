"""The edge: RPC arguments in, a checked RequestSpec out.

After these functions a request needs no more checks: it has a flavor with
all its sizes, and every value has its type and a sensible range.
"""

from nova_sched.objects import fields
from nova_sched.objects import request_spec
from nova_sched.objects.fields import MalformedError
from nova_sched.objects.legacy import dicts as legacy_dicts

_SPEC = fields.nested(request_spec.RequestSpec)
_SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')


def from_wire(spec_obj):
    """RequestSpec from the argument ``spec_obj``.

    spec_obj: envelope of a RequestSpec, or the object.
    Raises InvalidInput, which names the field by its dotted path and shows
    its value; oslo.versionedobjects' IncompatibleObjectVersion when an
    object in it has an unknown major version.
    """
    try:
        try:
            spec_obj = _SPEC.read(spec_obj)
        except MalformedError as error:
            error.under('spec_obj')
            raise
        _check_flavor(spec_obj, 'spec_obj', 'flavor')
        return spec_obj
    except (MalformedError, RecursionError) as error:
        raise _invalid(error, 'spec_obj') from None


def from_legacy_dicts(request_spec, filter_properties):
    """RequestSpec from the arguments of RPC 4.2 and older.

    request_spec, filter_properties: dicts, or None when not given.
    Raises InvalidInput, IncompatibleObjectVersion as from_wire does.
    """
    try:
        spec_obj = legacy_dicts.spec_from_dicts(
            request_spec, filter_properties)
        _check_flavor(spec_obj, 'request_spec', 'instance_type')
        return spec_obj
    except (MalformedError, RecursionError) as error:
        raise _invalid(error, 'request_spec') from None


def check_instance_uuids(value):
    """Raise InvalidInput unless the argument ``instance_uuids`` is right.

    That is a list of at most 10000 texts, none of them empty, or None.
    """
    if value is None:
        return
    try:
        _UUIDS.read(value)
        if len(value) > request_spec.MAX_INSTANCES:
            raise MalformedError(
                value,
                f'must have at most {request_spec.MAX_INSTANCES} items')
    except MalformedError as error:
        raise error.under('instance_uuids').as_invalid_input() from None


def check_distinct(uuids):
    """Raise InvalidInput if an instance is named twice: it holds one claim.
    """
    if uuids is not None and len(set(uuids)) < len(uuids):
        raise MalformedError(
            uuids, 'must name no instance twice', 'instance_uuids'
        ).as_invalid_input()


def flag(name, value):
    """A boolean argument of this name; 'false' is false, and so is null.

    Raises InvalidInput for what is neither true nor false.
    """
    try:
        return value is not None and fields.BOOLEAN.read(value)
    except MalformedError as error:
        raise error.under(name).as_invalid_input() from None


def _read_uuid(value):
    if value == '':
        raise MalformedError(value, 'must be the uuid of an instance')
    return fields.NAME.read(value)


_UUIDS = fields.list_of(fields.Kind(_read_uuid))


def _check_flavor(spec_obj, *path):
    if spec_obj.flavor is None:
        raise MalformedError.missing(*path)
    for name in _SIZES:
        if not spec_obj.flavor.obj_attr_is_set(name):
            raise MalformedError.missing(*path, name)


def _invalid(error, argument):
    if isinstance(error, RecursionError):
        error = MalformedError(None, 'is nested too deeply', argument)
    return error.as_invalid_input()
