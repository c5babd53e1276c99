"""The cells of a cloud, as Nova's ``cell_mappings`` list them."""

import contextlib
import dataclasses
from urllib import parse

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.db import api_reader
from nova_sched.db import engine

LOG = logging.getLogger(__name__)

# The only cell of a cloud without cell mappings.  The zero uuid would be
# wrong: it is that of Nova's cell0, which holds the servers that failed to
# get a host, and a conductor takes a selection in it for a failure.
SINGLE_CELL_UUID = '00000000-0000-0000-0000-000000000001'
CELL0_UUID = '00000000-0000-0000-0000-000000000000'

#: Names that a template may contain besides ``path``.
_PARTS = ('scheme', 'username', 'password', 'hostname', 'port', 'query',
          'fragment')


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell: one database with hosts.

    connection: the database's URL, which may hold a password.
    disabled: whether its hosts are only for requests that name the cell.
    """

    uuid: str
    name: str | None
    connection: str = dataclasses.field(repr=False)
    disabled: bool = False

    def __str__(self):
        return f'{self.uuid}({self.name})' if self.name else self.uuid


def single_cell(conf):
    """Return the cells of a cloud without mappings: ``[database]`` alone."""
    return (Cell(SINGLE_CELL_UUID, None, engine.connection_url(conf)),)


def from_mappings(rows, conf):
    """Return the cells of rows of ``cell_mappings`` except cell0: tuple.

    rows: dicts with uuid, name, database_connection and disabled, by id.
    A cell with an invalid URL is skipped with a warning.
    """
    cells = []
    for row in rows:
        if row['uuid'] == CELL0_UUID:
            continue
        try:
            cells.append(from_mapping(row, conf))
        except exception.ConfigurationError as error:
            LOG.warning('Cell %s (%s) is left out, as its '
                        'database_connection in cell_mappings cannot be '
                        'used: %s', row['name'], row['uuid'], error.hint)
    return tuple(cells)


def from_mapping(row, conf):
    """Return the Cell of one row of ``cell_mappings``.

    Raises ConfigurationError for an invalid URL.
    """
    connection = mapping_url(row, conf)
    engine.connect(connection, engine.options_from(conf)).dispose()
    return Cell(row['uuid'], row['name'], connection, bool(row['disabled']))


def mapping_url(row, conf):
    """Return the URL of the cell in a row of ``cell_mappings``: text.

    Raises ConfigurationError for a template that cannot be filled in.
    """
    return fill_template(row['database_connection'] or '',
                         engine.connection_url(conf))


def find_cell0(conf):
    """Return the row of cell0 in ``cell_mappings``: dict, or None.

    Raises DatabaseUnavailable.
    """
    if not conf.api_database.connection:
        return None
    with contextlib.closing(engine.database(conf, 'api_database')) as api:
        rows = api_reader.ApiReader(api).cell_mappings()
    return next((row for row in rows if row['uuid'] == CELL0_UUID), None)


def cell0_secret(conf):
    """Return a secret that only users of the API database can read, or None.

    It is the same on all hosts with the same password of cell0's database.
    Raises DatabaseUnavailable and ConfigurationError.
    """
    row = find_cell0(conf)
    if row is None:
        return None
    password = engine.parse_url(mapping_url(row, conf)).password
    return password and f'{row["database_connection"]} {password}'


def fill_template(template, url):
    """Fill the parts of ``[database] connection`` into a cell's URL.

    template: text with any of _PARTS and ``path`` in braces, as ``nova-manage
        cell_v2`` lets operators write it.  url: text.
    A template that cannot be filled in, and has braces only in its password,
    is returned as it is.
    Raises ConfigurationError for an unknown name in braces.
    """
    if '{' not in template:
        return template
    # Percent-encoded characters stay as they are.
    parts = parse.urlsplit(url)
    try:
        return template.format(**{
            name: getattr(parts, name) or '' for name in _PARTS},
            path=parts.path.removeprefix('/'))
    except (KeyError, ValueError, IndexError, AttributeError):
        if _has_braces_in_password_only(template):
            return template
        raise exception.ConfigurationError(
            'cell_mappings database_connection', '****',
            'as a template of [database] connection it may name only '
            + ', '.join(f'{{{name}}}' for name in (*_PARTS, 'path'))
        ) from None


def _has_braces_in_password_only(text):
    try:
        url = engine.parse_url(text)
    except exception.ConfigurationError:
        return False
    rest = url._replace(password=None).render_as_string()
    return '{' not in parse.unquote(rest)
