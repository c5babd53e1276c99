"""The cells of a cloud: which there are, by Nova's ``cell_mappings``."""

import dataclasses
from urllib import parse

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

# The nameless cell of a database without cells.  Not the zero uuid: that one
# is Nova's cell0, the graveyard of servers that never got a host, and a
# conductor would take a selection in it for a failure.
SINGLE_CELL_UUID = '00000000-0000-0000-0000-000000000001'
CELL0_UUID = '00000000-0000-0000-0000-000000000000'

#: What a template may name besides the path.
_PARTS = ('scheme', 'username', 'password', 'hostname', 'port', 'query',
          'fragment')


@dataclasses.dataclass(frozen=True)
class Cell:
    """One database with hosts.

    connection: its URL (may hold a password).
    disabled: whether only requests that name the cell get hosts of it.
    """

    uuid: str
    name: str | None
    connection: str = dataclasses.field(repr=False)
    disabled: bool = False

    def __str__(self):
        return f'{self.uuid}({self.name})' if self.name else self.uuid


def only_one(conf):
    """The cells of a cloud without mappings: one, of ``[database]``."""
    return (Cell(SINGLE_CELL_UUID, None, engine.connection_url(conf)),)


def of_mappings(rows, conf):
    """The cells that rows of ``cell_mappings`` name, but cell0: tuple.

    rows: dicts with uuid, name, database_connection and disabled, by id.
    A cell whose URL makes no engine is left out with a warning.
    """
    found = []
    for row in rows:
        if row['uuid'] == CELL0_UUID:
            continue
        try:
            found.append(of_mapping(row, conf))
        except exception.ConfigurationError as error:
            LOG.warning('Cell %(name)s (%(uuid)s) is left out, as its '
                        'database_connection in cell_mappings cannot be '
                        'used: %(error)s', {
                            'name': row['name'], 'uuid': row['uuid'],
                            'error': error.hint})
    return tuple(found)


def of_mapping(row, conf):
    """The Cell of a row of ``cell_mappings``, as of ``of_mappings``.

    Raises ConfigurationError for one whose URL makes no engine.
    """
    connection = url_of(row, conf)
    engine.connect(connection, engine.options_from(conf)).dispose()
    return Cell(row['uuid'], row['name'], connection, bool(row['disabled']))


def url_of(row, conf):
    """The URL of the cell of a row of ``cell_mappings``: text.

    Raises ConfigurationError for a template that cannot be filled in.
    """
    return filled_in(row['database_connection'] or '',
                     engine.connection_url(conf))


def filled_in(template, url):
    """A cell's URL with the parts of ``[database] connection`` filled in.

    template: text with any of _PARTS and ``path`` in braces, as ``nova-manage
        cell_v2`` lets operators write it.  url: text.
    One with a brace in its password only, and that cannot be filled in, is
    taken as it is.
    Raises ConfigurationError for another name in braces.
    """
    if '{' not in template:
        return template
    # As they are written: what is quoted there stays so.
    parts = parse.urlsplit(url)
    try:
        return template.format(**{
            name: getattr(parts, name) or '' for name in _PARTS},
            path=parts.path.removeprefix('/'))
    except (KeyError, ValueError, IndexError, AttributeError):
        if _is_filled_in(template):
            return template
        raise exception.ConfigurationError(
            'cell_mappings database_connection', '****',
            'as a template of [database] connection it may name only '
            + ', '.join(f'{{{name}}}' for name in (*_PARTS, 'path'))
        ) from None


def _is_filled_in(text):
    """Whether a URL has braces in its password only."""
    try:
        url = engine.parse_url(text)
    except exception.ConfigurationError:
        return False
    rest = url._replace(password=None).render_as_string()
    return '{' not in parse.unquote(rest)
