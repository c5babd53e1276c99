"""Fields of wire objects, and kinds of values: a pair of functions each.

A kind reads a JSON value into a Python value and, where the two differ, writes
it back. ``Field`` makes a kind a field of a class.

Reading accepts several forms of a value ("20" is an integer), and raises
MalformedError for values without meaning. The error collects the dotted path
to the value.
"""

import contextlib
import datetime
import json
import math
import typing

from oslo_versionedobjects import fields as ovo_fields

from nova_sched import exception

MAX_INT = 2 ** 31 - 1
MAX_LONG = 2 ** 63 - 1
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
_FALSE = frozenset(('0', 'f', 'false', 'off', 'n', 'no', ''))
_NO_VALUE = object()


class MalformedError(ValueError):
    """An invalid value of a field.

    ``str()`` is 'path = value: the requirement'.  Containers, URLs and long
    text are described and not shown, as they may contain passwords.
    """

    def __init__(self, value, must, *path):
        super().__init__(must)
        self.value, self.must, self.path = value, must, list(path)

    @classmethod
    def missing(cls, *path):
        """Return the error for a missing value."""
        return cls(_NO_VALUE, 'is missing', *path)

    def under(self, step):
        """Return the same error, with a key or index in front of its path."""
        self.path.insert(0, step)
        return self

    def __str__(self):
        path = ''.join(map(_path_step, self.path)).lstrip('.')
        if self.value is _NO_VALUE:
            return f'{path}: {self.must}'
        return f'{path} = {shown(self.value)}: {self.must}'

    def as_invalid_input(self):
        """Return the error for the caller."""
        return exception.InvalidInput(reason=str(self))


@contextlib.contextmanager
def at(*path):
    """Add a path of keys and indices to the errors of a block."""
    try:
        yield
    except MalformedError as error:
        error.path[:0] = path
        raise


def from_json_text(value):
    """Return the value in a JSON text, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise MalformedError(value, 'must be JSON text') from None


def _path_step(step):
    if isinstance(step, int):
        return f'[{step}]'
    text = str(step)
    if text.isprintable() and len(text) <= 80:
        return f'.{text}'
    return f'.{text[:60]!r}'


def shown(value):
    """Return a value as short text that is safe to log."""
    if isinstance(value, str):
        if '://' in value:
            return '<text with a URL>'
        return repr(value if len(value) <= 80 else f'{value[:77]}...')
    if isinstance(value, int) and value.bit_length() > 128:
        return f'<integer of {value.bit_length()} bits>'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, dict):
        name = value.get('nova_object.name')
        return (f'<{shown(name)} object>' if isinstance(name, str)
                else f'<dict of {len(value)} items>')
    if isinstance(value, (list, tuple, set)):
        return f'<{type(value).__name__} of {len(value)} items>'
    return f'<{type(value).__name__}>'


class Kind(typing.NamedTuple):
    """One kind of value.

    read, write: functions from and to JSON; write is None for no change.
    plain: class whose values need no reading, or None.
    """

    read: typing.Callable
    write: typing.Callable | None = None
    plain: type | None = None


class Field(ovo_fields.Field):
    """A kind of value as a field of an object.

    null: whether null is a value.  Otherwise null on the wire counts as
        unset, as some releases send it.
    unset: value of the unset field, or a callable that returns a new one,
        which is stored in the object unless ``keep`` is false.
    since: version of the object that added the field.
    lazy: whether ``obj_load_attr`` loads the unset field.
    """

    def __init__(self, kind, *, null=False, unset=None, keep=True,
                 since='1.0', lazy=False):
        super().__init__(kind, nullable=null)
        self.kind, self.unset, self.keep, self.since = (
            kind, unset, keep, since)
        self.lazy = lazy


def _read_integer(value):
    """Return an integer of at most 64 bits; fractions are truncated."""
    if value.__class__ is int and -MAX_LONG <= value <= MAX_LONG:
        return value
    try:
        if isinstance(value, (float, str)) and len(str(value)) <= 24:
            number = int(value)
            if -MAX_LONG <= number <= MAX_LONG:
                return number
    except (ValueError, OverflowError):
        pass
    raise MalformedError(value, 'must be an integer')


def between(low, high):
    """Return the kind of integers from low to high; '20' and 20.0 are 20."""
    must = f'must be an integer from {low} to {high}'

    def read(value):
        if value.__class__ is int and low <= value <= high:
            return value
        try:
            number = _read_integer(value)
        except MalformedError:
            # No comparison with NaN is true.
            number = math.nan
        if low <= number <= high and (number == value
                                      or isinstance(value, str)):
            return number
        raise MalformedError(value, must)

    return Kind(read)


def _read_float(value):
    if value.__class__ is not bool and isinstance(value, (float, int, str)):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise MalformedError(value, 'must be a finite number')


def _read_boolean(value):
    if value.__class__ is bool:
        return value
    if isinstance(value, (int, float)):
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
    raise MalformedError(value, 'must be true or false')


def _read_text(value):
    if value.__class__ is str:
        return value
    if isinstance(value, float) or (
            value.__class__ is int and value.bit_length() <= 128):
        return str(value)
    raise MalformedError(value, 'must be text')


def _read_name(value):
    if value.__class__ is str:
        return value
    raise MalformedError(value, 'must be text')


def _read_secret(value):
    if value.__class__ is str:
        return value
    raise MalformedError(None, 'must be text (what was sent is not shown)')


def _read_datetime(value):
    try:
        moment = (value if isinstance(value, datetime.datetime)
                  else datetime.datetime.fromisoformat(value))
        if moment.tzinfo is None:
            return moment.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC)
    except (TypeError, ValueError, OverflowError):
        raise MalformedError(
            value, 'must be a time in ISO 8601 form') from None


def _write_datetime(moment):
    return moment.replace(
        tzinfo=None, microsecond=0).isoformat(timespec='seconds') + 'Z'


INTEGER = Kind(_read_integer)
SIZE = between(0, MAX_INT)
BIG_SIZE = between(0, MAX_LONG)
FLOAT = Kind(_read_float)
BOOLEAN = Kind(_read_boolean, plain=bool)
TEXT = Kind(_read_text, plain=str)         # also numbers, as text
NAME = Kind(_read_name, plain=str)         # text only
SECRET = Kind(_read_secret, plain=str)     # never shown in an error
DATETIME = Kind(_read_datetime, _write_datetime)


def one_of(values, aliases=None, lower=False):
    """Return the kind of text that is one of some names.

    aliases: {other spelling: name}.  lower: whether to ignore case.
    """
    values, aliases = frozenset(values), aliases or {}
    must = f'must be one of {", ".join(sorted(values))}'

    def read(value):
        text = _read_text(value)
        if lower:
            text = text.lower()
        text = aliases.get(text, text)
        if text in values:
            return text
        raise MalformedError(value, must)

    return Kind(read)


def check_most(value, most):
    """Raise MalformedError for more than ``most`` items, unless it is None."""
    if most is not None and len(value) > most:
        raise MalformedError(value, f'must have at most {most} items')


def check_length(text, most, *path):
    """Raise MalformedError for a text of more than ``most`` characters."""
    if len(text) > most:
        raise MalformedError(text, f'has {len(text)} characters, and must '
                             f'have at most {most}', *path)


def check_size(field, size, limit, unit='items', by=''):
    """Raise InvalidInput if a part of a request is larger than its limit.

    field: dotted path or name of the part.
    size, limit: numbers of ``unit``.  by: origin of the limit, for the text.
    """
    if size > limit:
        raise exception.InvalidInput(
            reason=f'{field}: {size} {unit}, and at most {limit} are allowed'
                   f'{by and " " + by}')


def list_of(kind, most=None):
    """Return the kind of lists with items of one kind.

    most: maximum number of items, or None.
    """
    read_item, write_item = kind.read, kind.write

    def read(value):
        if not isinstance(value, (list, tuple)):
            raise MalformedError(value, 'must be a list')
        check_most(value, most)
        items = []
        try:
            for item in value:
                items.append(read_item(item))
        except MalformedError as error:
            error.under(len(items))
            raise
        return items

    if write_item is None:
        return Kind(read, list)
    return Kind(read, lambda items: [write_item(item) for item in items])


def set_of(kind, most=None):
    """Return the kind of sets, which are sorted lists on the wire."""
    read_list = list_of(kind, most).read

    def read(value):
        if isinstance(value, (set, frozenset)):
            value = list(value)
        return set(read_list(value))

    return Kind(read, sorted)


def dict_of(kind, null=False, keys=None, most=None):
    """Return the kind of dicts with values of one kind.

    null: whether a value may be null.  keys: kind of the keys, text if None;
        on the wire keys are text.  most: maximum number of items, or None.
    """
    read_item = kind.read
    read_key = (keys or NAME).read

    def read(value):
        if not isinstance(value, dict):
            raise MalformedError(value, 'must be a dict')
        check_most(value, most)
        items = {}
        for key, item in value.items():
            try:
                items[read_key(key)] = (
                    None if item is None and null else read_item(item))
            except MalformedError as error:
                error.under(key)
                raise
        return items

    if keys is None:
        return Kind(read, dict)
    return Kind(read, lambda items: {str(k): v for k, v in items.items()})


def nested(cls):
    """Return the kind of objects of a class; envelopes on the wire."""
    must = f'must be a {cls.__name__} object'

    def read(value):
        if isinstance(value, dict):
            return cls.from_envelope(value)
        if isinstance(value, cls):
            return value
        raise MalformedError(value, must)

    return Kind(read, lambda value: value.obj_to_primitive())


def objects_of(cls, most=None):
    """Return the fields of a list of objects of a class: dict.

    most: maximum number of objects, or None.
    """
    return {'objects': Field(list_of(nested(cls), most), unset=list)}


#: Fields of each object that is also a database row.
PERSISTENT = {
    'created_at': Field(DATETIME, null=True),
    'updated_at': Field(DATETIME, null=True),
    'deleted_at': Field(DATETIME, null=True),
    'deleted': Field(BOOLEAN, unset=False),
}
