"""The databases: whether they answer, and whether they are consistent.

They are only read.
"""

import contextlib
import dataclasses
import itertools
import time

from oslo_utils import timeutils

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import remote
from nova_sched import toml_files
from nova_sched.db import api_reader
from nova_sched.db import cell_reader
from nova_sched.db import cells as db_cells
from nova_sched.db import changed_rows
from nova_sched.db import engine
from nova_sched.db import layouts
from nova_sched.db import services
from nova_sched.db import statements
from nova_sched.db import tables
from nova_sched.hosts import columns
from nova_sched.options import releases
from nova_sched.preflight import rows
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row

_API, _OWN = 'API database', 'database'
_API_URL, _OWN_URL = '[api_database] connection', '[database] connection'
_CELL_URL = "the cell's URL: nova-manage cell_v2 list_cells --verbose"
_MAP_ADVICE = toml_files.read('advice.toml', __package__)[
    'databases']['map']

#: With this variable on, MariaDB does not let a transaction overwrite rows
#: that another one has changed since they were read.
_ISOLATION = 'innodb_snapshot_isolation'

#: The columns of compute nodes that are read.
_NODE_COLUMNS = ('uuid', 'host', 'hypervisor_hostname')
_SCHEDULER_COLUMNS = ('host', 'forced_down', 'last_seen_up', 'created_at',
                      'version')

#: Tables of the API database alone, and of cells' databases alone; the
#: database of a loaded cloud has both.
_IN_API, _IN_CELLS = tables.cell_mappings.name, tables.compute_nodes.name


@dataclasses.dataclass(frozen=True)
class Api:
    """The contents of the API database.

    cells: rows of cell_mappings.  mapped: dict host name -> cell uuid.
    """

    layout: str
    cells: list
    mapped: dict
    aggregates: int


@dataclasses.dataclass(frozen=True)
class Computes:
    """The compute hosts of one database.

    nodes: (name, uuid or None) of each.  hosts: names of their hosts.
    states: dict host name -> up, down or disabled, of hosts with a service.
    version: the oldest of the compute services, None without any.
    """

    layout: str
    nodes: list
    hosts: frozenset
    states: dict
    version: int | None

    def count(self, state):
        """Return how many hosts are up, down or disabled."""
        return sum(known == state for known in self.states.values())


def read_api(conf):
    """Read the API database: Api.  Raises DatabaseUnavailable."""
    db = engine.database(conf, 'api_database')
    with contextlib.closing(api_reader.ApiReader(
            db, fallback=engine.database(conf))) as reader:
        aggregates = len(reader.aggregates())
        return Api(layouts.of_api(db).words, reader.cell_mappings(),
                   reader.host_cells(), aggregates)


def are_swapped(conf):
    """Return whether the URLs of the two databases are swapped.

    Raises DatabaseUnavailable.
    """
    names = []
    for group in ('database', 'api_database'):
        with contextlib.closing(engine.database(conf, group)) as db:
            names.append(db.table_names())
    own, api_tables = names
    return (_IN_API in own - api_tables) and _IN_CELLS in api_tables - own


def read_schedulers(conf, down_time):
    """Read the records of schedulers in [database].

    Returns a list of (host, version) of the schedulers that are up, and the
    db.services.Version of the record that this service has or would get.
    down_time: seconds without heartbeat after which a scheduler is down.
    Raises DatabaseUnavailable.
    """
    with contextlib.closing(engine.database(conf)) as db:
        with db.reading() as connection:
            c = tables.services.c
            records = statements.CompiledStatement(
                connection, statements.Schema(connection, db).select(
                    tables.services, _SCHEDULER_COLUMNS).where(
                        c.deleted == 0, c.binary == services.BINARY)
            ).rows(connection)
        return [(host, version)
                for host, forced_down, seen, created, version in records
                if _is_up(forced_down, seen or created, down_time)
                ], services.ServiceRecord(db, conf.host).version()


def read_computes(cell, conf, down_time):
    """Read the compute hosts of a db.cells.Cell: Computes.

    Raises DatabaseUnavailable.
    """
    with contextlib.closing(cell_reader.CellReader(
            cell, engine.options_from(conf), _NODE_COLUMNS)) as reader:
        with reader.db.reading() as connection:
            nodes, records = (
                [row.values for _id, row in sorted(changes.rows.items())]
                for changes in reader.changes(
                    connection, changed_rows.KnownRows(),
                    changed_rows.KnownRows(), time.time()))
        layout = layouts.of_cell(reader.db).words
    # The last value is not a column of services.
    records = [dict(zip(columns.SERVICE_COLUMNS, values[:-1], strict=True))
               for values in records]
    return Computes(
        layout, [(name, uuid) for uuid, _host, name in nodes],
        frozenset(host for _uuid, host, _name in nodes),
        {row['host']: _state(row, down_time) for row in records},
        min((row['version'] or 0 for row in records), default=None))


def _state(row, down_time):
    if row['disabled']:
        return 'disabled'
    return 'up' if _is_up(
        row['forced_down'], row['last_seen_up'] or row['created_at'],
        down_time) else 'down'


def _is_up(forced_down, seen, down_time):
    return not forced_down and services.is_fresh(
        seen, timeutils.utcnow(), down_time)


def lax_isolation(conf):
    """Return the MariaDB whose transactions may overwrite each other: text.

    It is the server of [api_database], on which most clouds have Placement's
    database, too, or of [database].  '' if its isolation is strict, and for
    other servers.
    Raises DatabaseUnavailable.
    """
    group = ('api_database' if conf.api_database.connection else 'database')
    with contextlib.closing(engine.database(conf, group)) as db, (
            db.reading()) as connection:
        if not getattr(connection.dialect, 'is_mariadb', False):
            return ''
        version, = connection.exec_driver_sql('SELECT VERSION()').one()
        variables = connection.exec_driver_sql(
            f"SHOW GLOBAL VARIABLES LIKE '{_ISOLATION}'").all()
    if variables == [(_ISOLATION, 'ON')]:
        return ''
    return f'{db.masked} is on MariaDB {version}, which has ' + (
        f'{_ISOLATION} = OFF' if variables else f'no {_ISOLATION}')


class Databases:
    """All databases of a configuration, queried at the same time.

    The constructor starts the queries.  Each database has ``[nova_sched]
    cell_timeout`` seconds; the cells are queried after the API database, with
    the same timeout.
    """

    def __init__(self, conf):
        self._conf, self._seconds = conf, conf.nova_sched.cell_timeout
        self._down_time = config.service_down_time(conf)
        self._has_api = bool(conf.api_database.connection)
        self._schedulers = self._ask(read_schedulers, conf, self._down_time)
        if self._has_api:
            self._api = self._ask(read_api, conf)
            self._swapped = self._ask(are_swapped, conf)
        self._lax = config.placement_configured(conf) and self._ask(
            lax_isolation, conf)
        self._cells = remote.Call(2 * self._seconds, self._ask_cells,
                                  name='preflight')

    def _ask(self, function, *args):
        return remote.Call(self._seconds, function, *args,
                           name='preflight')

    def _ask_cells(self):
        """Return (cell, remote.Call) for each cell: list.

        (Row, None) for a cell that cannot be queried.
        """
        return [(cell, None if isinstance(cell, Row) else self._ask(
            read_computes, cell, self._conf, self._down_time))
            for cell in self._find_cells()]

    def _find_cells(self):
        """Yield each cell as db.cells.Cell, or the Row of a wrong mapping."""
        mappings = self._api.result().cells if self._has_api else []
        # A loaded cloud has cells without databases of their own.
        if not any(row['database_connection'] for row in mappings):
            yield from db_cells.single_cell(self._conf)
            return
        for row in mappings:
            if row['uuid'] == db_cells.CELL0_UUID:
                continue
            try:
                yield db_cells.from_mapping(row, self._conf)
            except exception.ConfigurationError as error:
                yield Row(f'cell {row["name"] or row["uuid"]}', ERROR,
                          f'its URL cannot be used: {error.hint}',
                          f'Correct {_CELL_URL}')

    def rows(self):
        """Return the rows about all databases: list of Row."""
        if self._are_swapped():
            return [Row(_OWN, ERROR, '[database] connection and '
                        '[api_database] connection are swapped: the former '
                        'is an API database, the latter a cell database',
                        'Exchange the two URLs')]
        own = _advice(engine.connection_url(self._conf), _OWN_URL)
        return [*self._api_rows(),
                *rows.attempt(_OWN, own, self._service_rows),
                *self._isolation_rows(),
                *rows.attempt('cells', 'The hosts are not known without the '
                              'API database', self._cell_rows)]

    def _are_swapped(self):
        try:
            return self._has_api and self._swapped.result()
        except Exception:
            return False    # reported in the row of that database

    def _api_rows(self):
        if not self._has_api:
            return [Row(_API, OK, '[api_database] connection is not set: one '
                        'database has all tables, as in Kilo and Mitaka')]
        return rows.attempt(_API, _advice(engine.connection_url(
            self._conf, 'api_database'), _API_URL), self._api_row)

    def _api_row(self):
        api = self._api.result()
        url = engine.database(self._conf, 'api_database').masked
        text = (f'{url}, tables {api.layout}: {len(api.cells)} cell '
                f'mappings, {len(api.mapped)} host mappings, '
                f'{api.aggregates} aggregates')
        if not api.cells:
            return [Row(_API, WARNING, text, 'No cell is mapped, so hosts are '
                        'read from [database]. If that is not intended, see '
                        'nova-manage cell_v2 list_cells')]
        return [Row(_API, OK, text)]

    def _isolation_rows(self):
        with contextlib.suppress(Exception):    # reported in another row
            server = self._lax and self._lax.result()
            if server:
                return [Row('MariaDB', WARNING, f'{server}: if Placement uses '
                            'this server, too, it may grant two concurrent '
                            f'claims with room for one', f'Set {_ISOLATION} '
                            '= ON in the server of Placement; MariaDB has it '
                            'from 10.6.18, 10.11.8 and 11.4.2 on, and ON by '
                            'default from 11.6 on')]
        return []

    def _service_rows(self):
        running, own = self._schedulers.result()
        url = engine.database(self._conf).masked
        record = 'the existing record' if own.is_there else 'a new record'
        return [Row(_OWN, OK, f'{url}, {self._which_database()}; this '
                    f'service will use {record} for host '
                    f'{self._conf.host}, with version '
                    f'{_version(own.number)}, {own.origin}'),
                *_way_back(own),
                *itertools.starmap(self._scheduler_row, running)]

    def _which_database(self):
        """Return which of the mapped databases [database] is: text."""
        try:
            mappings = self._api.result().cells if self._has_api else []
        except exception.NovaSchedException:
            return 'of an unknown cell, without the API database'
        place = _place(engine.connection_url(self._conf))
        for row in mappings:
            try:
                if _place(db_cells.mapping_url(row, self._conf)) == place:
                    return ('the database of cell '
                            f'{row["name"] or row["uuid"]}')
            except exception.ConfigurationError:
                continue    # reported in the row of the cell
        return ('the database of no mapped cell' if mappings
                else 'the only database')

    def _scheduler_row(self, host, version):
        text = (f'a scheduler is up on host {host}, of version '
                f'{_version(version)}')
        if host == self._conf.host:
            return Row('other schedulers', WARNING, text,
                       'That is the host name of this service: stop that '
                       'scheduler before this service starts, or set '
                       '[DEFAULT] host, because two schedulers cannot share a '
                       'record')
        return Row('other schedulers', WARNING, text,
                   'It takes some of the requests while it runs; stop it if '
                   'this service should answer all requests')

    def computes(self):
        """Return the hosts of the cells that answered: list of Computes."""
        try:
            calls = [call for _cell, call in self._cells.result() if call]
        except Exception:
            return []    # reported in the row of the API database
        computes = []
        for call in calls:
            with contextlib.suppress(Exception):    # reported in its row
                computes.append(call.result())
        return computes

    def _cell_rows(self):
        results = []
        for cell, call in self._cells.result():
            if call is None:
                results.append(cell)
                continue
            name = f'cell {cell}' if cell.name else 'hosts'
            results += rows.attempt(
                name, _advice(cell.connection, (
                    _CELL_URL if self._has_api else _OWN_URL)),
                self._one_cell_rows, name, cell, call)
        return results

    def _one_cell_rows(self, check, cell, call):
        computes = call.result()
        url = engine.Database(cell.connection).masked
        text = (f'{url}, tables {computes.layout}: {len(computes.nodes)} '
                f'compute nodes, {len(computes.states)} compute services of '
                f'version {_version(computes.version)} or newer, ' + ', '.join(
                    f'{computes.count(state)} {state}'
                    for state in ('up', 'disabled', 'down')))
        if cell.disabled:
            text += '; the cell is disabled: only for requests that name it'
        return [self._summary(check, text, computes),
                *self._without_service(check, computes),
                *self._unmapped(check, cell, computes)]

    @staticmethod
    def _summary(check, text, computes):
        if computes.count('up'):
            return Row(check, OK, text)
        return Row(check, WARNING, text,
                   'No host is up: look at the compute services and their '
                   'clocks, and at [DEFAULT] service_down_time')

    @staticmethod
    def _without_service(check, computes):
        without = computes.hosts - computes.states.keys()
        if without:
            yield Row(check, WARNING, rows.counted(
                without, 'hosts with compute nodes but no compute service'),
                'They get no instances. Delete the records of hosts that no '
                'longer exist; start nova-compute on the others')

    def _unmapped(self, check, cell, computes):
        """Yield rows on hosts that host_mappings does not map to the cell."""
        if not self._has_api or cell.uuid == db_cells.SINGLE_CELL_UUID:
            return
        mapped = self._api.result().mapped
        missing = computes.hosts - mapped.keys()
        if missing:
            yield Row(check, WARNING, rows.counted(
                missing, 'hosts that are not mapped to a cell'), _MAP_ADVICE)
        elsewhere = {host for host in computes.hosts & mapped.keys()
                     if mapped[host] != cell.uuid}
        if elsewhere:
            yield Row(check, ERROR, rows.counted(
                elsewhere, 'hosts that are mapped to another cell'),
                'Their instances get lost. Delete the mapping with '
                'nova-manage cell_v2 delete_host, then map the host again')


def _advice(url, named):
    """Return the advice on a database that does not answer.

    url: of the database, as configured.  named: name of its option.
    """
    if engine.parse_url(url).get_backend_name() == 'sqlite':
        return f'Check its path and permissions, and {named}'
    return f'Check that it runs, and {named}'


def _place(url):
    """Return the parts of a URL that identify a database."""
    url = engine.parse_url(url)
    return url.get_backend_name(), url.host, url.port, url.database, (
        url.query.get('unix_socket'))


def _way_back(own):
    """Return a row if a nova-scheduler would not start here: list.

    own: services.Version.
    """
    if own.above is None:
        return []
    return [Row('way back', WARNING, 'all records of nova-scheduler have a '
                f'higher version than {_version(own.above)}, the lowest of '
                'nova-conductor: a nova-scheduler of that release ends with '
                'ServiceTooOld', 'Unless an upgrade is under way, delete the '
                'records while no scheduler runs on their hosts (openstack '
                'compute service delete); this service creates a new record')]


def _version(number):
    """Return a service's version with its release: text."""
    release = releases.of_service(number)
    return f'{number} ({release})' if release else f'{number}'
