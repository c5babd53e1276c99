"""The edge: RPC arguments in, a checked RequestSpec out.

After these functions a request needs no more checks: it has a flavor with
all its sizes, and every value has its type and a sensible range.
"""

import re

from nova_sched import nova_compat
from nova_sched.objects import bounds
from nova_sched.objects import fields
from nova_sched.objects import request_spec
from nova_sched.objects.fields import MalformedError

_SPEC = fields.nested(request_spec.RequestSpec)
#: NUL, and halves of characters.
_BAD = re.compile('[\0\ud800-\udfff]')
_DATA = 'nova_object.data'
#: What may hold text.
_HOLD_TEXT = (str, dict, list)
#: What no flavor of a request may lack.
SIZES = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')


def from_wire(spec_obj):
    """Return the RequestSpec of the argument ``spec_obj``.

    spec_obj: envelope of a RequestSpec, or the object.
    Raises InvalidInput, which names the field by its dotted path and shows
    its value; oslo.versionedobjects' IncompatibleObjectVersion when an
    object in it has an unknown major version.
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
    """Raise InvalidInput unless the argument ``instance_uuids`` is right.

    That is a list of texts, none of them empty, or None.
    """
    if value is None:
        return
    try:
        _UUIDS.read(value)
    except MalformedError as error:
        raise error.under('instance_uuids').as_invalid_input() from None


def check_distinct(uuids):
    """Raise InvalidInput if an instance is named twice: it holds one claim.
    """
    if uuids is not None and len(set(uuids)) < len(uuids):
        raise MalformedError(
            uuids, 'must name no instance twice', 'instance_uuids'
        ).as_invalid_input()


def check_text(call, as_json):
    """Raise InvalidInput for a call that is too large, or holds bad text.

    Bad is a lone surrogate (half of a character, which JSON can say) and the
    character NUL: databases, logs and JSON readers refuse them, each in its
    own words and in the midst of something.

    call: {argument: plain JSON}.  as_json: the same as JSON text in ASCII,
    bytes, in which either begins with a backslash and a u.
    """
    fields.check_size('the arguments of select_destinations', len(as_json),
                      bounds.REQUEST_BYTES, 'bytes of JSON')
    if b'\\u' in as_json:
        try:
            _walk(call)
        except MalformedError as error:
            raise error.as_invalid_input() from None


def flag(name, value):
    """Return a boolean argument of this name; 'false' is false, and so is
    null.

    Raises InvalidInput for what is neither true nor false.
    """
    try:
        return value is not None and fields.BOOLEAN.read(value)
    except MalformedError as error:
        raise error.under(name).as_invalid_input() from None


def _walk(call):
    # A path is a pair of that above it and a step, or None: made whole only
    # for what is refused, because there may be millions of them.
    left = [(call, None)]
    while left:
        value, path = left.pop()
        if isinstance(value, str):
            _check_characters(value, path)
        elif isinstance(value, dict):
            for name, item in value.items():
                # The envelopes of objects are in no path.
                below = path if name == _DATA else (path, name)
                _check_characters(name, path)
                if isinstance(item, _HOLD_TEXT):
                    left.append((item, below))
        elif isinstance(value, list):
            left.extend((item, (path, index))
                        for index, item in enumerate(value)
                        if isinstance(item, _HOLD_TEXT))


def _check_characters(text, path):
    found = isinstance(text, str) and _BAD.search(text)
    if found:
        raise MalformedError(
            text, f'must not contain {found[0]!r}, which no database takes',
            *_steps(path))


def _steps(path):
    """Return the steps of a path of pairs, from the top: list."""
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return steps[::-1]


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
    """Check what filters count on, and no sender leaves out."""
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
