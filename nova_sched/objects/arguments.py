"""Conversion of RPC arguments into a checked RequestSpec.

The result needs no more checks: it has a flavor with all its sizes, and every
value has its type and a sensible range.
"""

import re

from nova_sched import nova_compat
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import request_spec
from nova_sched.objects.fields import MalformedError

_SPEC = fields.nested(request_spec.RequestSpec)
#: NUL and lone surrogates.
_BAD = re.compile('[\0\ud800-\udfff]')
_DATA = 'nova_object.data'
#: Required fields of a flavor.
SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')


def from_wire(spec_obj):
    """Return the RequestSpec of the argument ``spec_obj``.

    spec_obj: envelope of a RequestSpec, or the object.
    Raises InvalidInput with the dotted path of the field and its value, and
    oslo.versionedobjects' IncompatibleObjectVersion for an object of an
    unknown major version.
    """
    try:
        with fields.at('spec_obj'):
            spec_obj = _SPEC.read(spec_obj)
        _check_flavor(spec_obj, 'spec_obj', 'flavor')
        _check_parts(spec_obj, 'spec_obj')
        return spec_obj
    except (MalformedError, RecursionError) as error:
        raise _invalid(error, 'spec_obj') from None


def from_legacy_dicts(request_spec, filter_properties):
    """Return the RequestSpec of the arguments of RPC 4.2 and older.

    request_spec, filter_properties: dicts, or None when not given.
    Raises InvalidInput, IncompatibleObjectVersion as from_wire does.
    """
    try:
        spec_obj = nova_compat.loaded().spec_from_dicts(
            request_spec, filter_properties)
        _check_flavor(spec_obj, 'request_spec', 'instance_type')
        _check_parts(spec_obj, 'request_spec', 'instance_properties')
        return spec_obj
    except (MalformedError, RecursionError) as error:
        raise _invalid(error, 'request_spec') from None


def check_instance_uuids(value):
    """Raise InvalidInput for an invalid argument ``instance_uuids``.

    It must be a list of non-empty texts, or None.
    """
    if value is not None:
        _read_argument('instance_uuids', _UUIDS, value)


def check_distinct(uuids):
    """Raise InvalidInput for a duplicate instance, which has only one claim.
    """
    if uuids is not None and len(set(uuids)) < len(uuids):
        raise MalformedError(
            uuids, 'must name no instance twice', 'instance_uuids'
        ).as_invalid_input()


def check_text(call, as_json):
    """Raise InvalidInput for a call that is too large or contains bad text.

    Bad text contains a lone surrogate, which JSON can represent, or the
    character NUL. Databases, logs and JSON readers would refuse it later, each
    with another error.

    call: {argument: plain JSON}.  as_json: the same as JSON text in ASCII,
    bytes, in which bad characters begin with a backslash and a u.
    """
    fields.check_size('the arguments of select_destinations', len(as_json),
                      bounds.REQUEST_BYTES, 'bytes of JSON')
    if b'\\u' in as_json:
        try:
            _check_characters(call)
        except (MalformedError, RecursionError) as error:
            raise _invalid(error, 'select_destinations') from None


def flag(name, value):
    """Return the value of a boolean argument; null counts as false.

    Raises InvalidInput for another value than true, false and their usual
    spellings.
    """
    return value is not None and _read_argument(name, fields.BOOLEAN, value)


def _read_argument(name, kind, value):
    try:
        return kind.read(value)
    except MalformedError as error:
        raise error.under(name).as_invalid_input() from None


def _check_characters(value):
    """Raise MalformedError for bad text in a JSON value."""
    if isinstance(value, str):
        if match := _BAD.search(value):
            raise MalformedError(value, f'must not contain {match[0]!r}, '
                                 'which no database takes')
        return
    if isinstance(value, dict):
        items = value.items()
        for name in value:
            _check_characters(name)
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return
    for step, item in items:
        try:
            _check_characters(item)
        except MalformedError as error:
            # Paths omit the envelopes of objects.
            if step != _DATA:
                error.under(step)
            raise


def _read_uuid(value):
    if value == '':
        raise MalformedError(value, 'must be the uuid of an instance')
    return fields.NAME.read(value)


_UUIDS = fields.list_of(fields.Kind(_read_uuid), bounds.INSTANCES)


def _check_flavor(spec_obj, *path):
    if spec_obj.flavor is None:
        raise MalformedError.missing(*path)
    for name in SIZES:
        if not spec_obj.flavor.obj_attr_is_set(name):
            raise MalformedError.missing(*path, name)


def _check_parts(spec_obj, *path):
    """Check fields that filters rely on and that every sender sets."""
    if spec_obj.pci_requests is not None:
        _check_pci(spec_obj.pci_requests.requests,
                   *path, 'pci_requests', 'requests')
    group = spec_obj.instance_group
    if group is not None and group.policy == 'anti-affinity':
        try:
            group.rules.get('max_server_per_host')
        except ValueError:
            raise MalformedError(
                group._rules['max_server_per_host'], 'must be an integer',
                *path, 'instance_group', 'rules', 'max_server_per_host',
            ) from None


def _check_pci(requests, *path):
    conditions = 0
    for index, request in enumerate(requests):
        if not request.obj_attr_is_set('count'):
            raise MalformedError.missing(*path, index, 'count')
        conditions += sum(1 + len(spec) for spec in request.spec)
    if conditions > bounds.PCI_CONDITIONS:
        raise MalformedError(
            requests, f'has {conditions} conditions in its specifications, '
            f'and must have at most {bounds.PCI_CONDITIONS}', *path)


def _invalid(error, argument):
    if isinstance(error, RecursionError):
        error = MalformedError(None, 'is nested too deeply', argument)
    return error.as_invalid_input()
