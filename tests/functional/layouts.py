"""Nova's tables as its releases made them, on a real server.

Columns have MariaDB's types; ``_POSTGRESQL`` translates them.

Eras are the first letter of the release's name: K for Kilo up to R for
Rocky, and X for 34.
"""

import datetime

import sqlalchemy as sa

from nova_sched.db import cells
from nova_sched.db import engine
from tests.builders import clouds

KILO, LIBERTY, MITAKA, OCATA, PIKE, QUEENS, NOVA_34 = 'KLMOPQX'

_STAMPS = 'DATETIME: created_at updated_at'
_SOFT = 'DATETIME: deleted_at\nINT: deleted'
#: Aggregates and groups were soft-deleted while they were in the cell's
#: database.
_ONCE_SOFT = 'DATETIME: deleted_at -- ..M\nINT: deleted -- ..M'
_KEY = 'INT AUTO_INCREMENT PRIMARY KEY: id'

#: Tables as ``nova-manage`` created them in each era: lines
#: ``type: columns -- since..until``, or a constraint.
TABLES = {
    'compute_nodes': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) UNIQUE: uuid -- M..
        VARCHAR(255): host hypervisor_hostname
        INT: service_id
        INT NOT NULL: vcpus memory_mb local_gb
        INT NOT NULL: vcpus_used memory_mb_used local_gb_used
        INT: free_ram_mb free_disk_gb disk_available_least
        INT: current_workload running_vms
        MEDIUMTEXT NOT NULL: hypervisor_type cpu_info
        INT NOT NULL: hypervisor_version
        VARCHAR(39): host_ip
        TEXT: supported_instances pci_stats metrics extra_resources stats
        TEXT: numa_topology
        FLOAT: ram_allocation_ratio cpu_allocation_ratio -- L..
        FLOAT: disk_allocation_ratio -- M..
        INT: mapped -- P..
        UNIQUE (host, hypervisor_hostname, deleted)""",
    'services': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) UNIQUE: uuid -- P..
        VARCHAR(255): host `binary` topic disabled_reason
        INT NOT NULL: report_count
        TINYINT(1): disabled
        DATETIME: last_seen_up -- L..
        TINYINT(1): forced_down -- L..
        INT: version -- L..
        UNIQUE (host, topic, deleted)
        UNIQUE (host, `binary`, deleted)""",
    'instances': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) NOT NULL UNIQUE: uuid
        VARCHAR(255): host node project_id user_id vm_state task_state
        VARCHAR(255): image_ref availability_zone os_type
        INT: power_state memory_mb vcpus root_gb ephemeral_gb
        INT: instance_type_id cleaned
        DATETIME: scheduled_at -- ..K
        TINYINT(1): hidden -- X..
        BIGINT: compute_id -- X..""",
    'instance_system_metadata': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) NOT NULL: instance_uuid
        VARCHAR(255): `key` value""",
    'instance_metadata': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) NOT NULL: instance_uuid
        VARCHAR(255): `key` value""",
    'instance_extra': f"""{_STAMPS}\n{_SOFT}\n{_KEY}
        VARCHAR(36) NOT NULL: instance_uuid
        TEXT: numa_topology pci_requests flavor vcpu_model""",
    'aggregates': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        VARCHAR(36): uuid -- M..
        VARCHAR(255): name""",
    'aggregate_hosts': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        VARCHAR(255): host
        INT NOT NULL: aggregate_id""",
    'aggregate_metadata': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        INT NOT NULL: aggregate_id
        VARCHAR(255) NOT NULL: `key` value""",
    'instance_groups': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        VARCHAR(36) NOT NULL: uuid
        VARCHAR(255): user_id project_id name""",
    'instance_group_policy': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        VARCHAR(255): policy
        INT NOT NULL: group_id
        TEXT: rules -- R..""",
    'instance_group_member': f"""{_STAMPS}\n{_ONCE_SOFT}\n{_KEY}
        VARCHAR(255): instance_id -- ..M
        VARCHAR(36): instance_uuid -- N..
        INT NOT NULL: group_id""",
    'cell_mappings': f"""{_STAMPS}\n{_KEY}
        VARCHAR(36) NOT NULL UNIQUE: uuid
        VARCHAR(255): name
        TEXT: transport_url database_connection
        TINYINT(1): disabled -- R..""",
    'host_mappings': f"""{_STAMPS}\n{_KEY}
        INT NOT NULL: cell_id
        VARCHAR(255) NOT NULL UNIQUE: host"""}

#: Tables of a cell, tables that moved to the API database with Newton, and
#: tables that have always been in the API database.
HOSTS, GROUPS, MAPPINGS = (list(TABLES)[:6], list(TABLES)[6:12],
                           list(TABLES)[12:])

#: MariaDB's words -> PostgreSQL's.
_POSTGRESQL = {'INT AUTO_INCREMENT': 'SERIAL', 'TINYINT(1)': 'BOOLEAN',
               'DATETIME': 'TIMESTAMP', 'MEDIUMTEXT': 'TEXT', '`': '"'}

LONG_AGO = datetime.datetime(2020, 1, 1)


def columns(table, era):
    """SQL definitions of a table's columns and constraints: list."""
    found = []
    for line in TABLES[table].splitlines():
        definition, _, when = line.strip().partition(' -- ')
        since, _, until = when.partition('..')
        if not (since or 'K') <= era <= (until or 'X'):
            continue
        kind, _, names = definition.partition(': ')
        found += [f'{name} {kind}' for name in names.split()] or [kind]
    return found


def create_table(dialect, table, era):
    """The statement that creates a table of an era; dialect: its name."""
    sql = f'CREATE TABLE {table} ({", ".join(columns(table, era))})'
    if dialect == 'postgresql':
        for word, other in _POSTGRESQL.items():
            sql = sql.replace(word, other)
    return sql


class NovaDatabase:
    """One database with tables of an era.

    url: of an empty one.  tables: dict table -> era.
    """

    def __init__(self, url, tables):
        self.url, self._db = url, engine.Database(url)
        with self._db.writing() as connection:
            for table, era in tables.items():
                connection.exec_driver_sql(
                    create_table(connection.dialect.name, table, era))
        self._tables = sa.MetaData()
        self._tables.reflect(self._db.engine)

    def close(self):
        """Close its idle connections."""
        self._db.close()

    def add(self, table, **row):
        """Insert a row; keys without a column in this era are left out."""
        into = self._tables.tables[table]
        row = {'created_at': LONG_AGO, 'updated_at': None, 'deleted': 0,
               **row}
        with self._db.writing() as connection:
            connection.execute(into.insert().values(
                {name: row[name] for name in row if name in into.c}))

    def execute(self, sql):
        """Run one statement; commit it."""
        with self._db.writing() as connection:
            connection.exec_driver_sql(sql)

    def rows(self, table, **wanted):
        """The rows with these values: list of dicts."""
        of = self._tables.tables[table]
        with self._db.reading() as connection:
            return [dict(row) for row in connection.execute(
                sa.select(of).filter_by(**wanted)).mappings()]


class Layout:
    """The databases of a cloud in an era, each a NovaDatabase.

    main: of [database].  api: of [api_database], or None.  cells: dict name
    -> database of each cell with hosts.  grouped: the database whose
    aggregates and groups count.

    era: letter.  new: function that creates an empty database: its URL.
    cells: names of the mapped cells; without any, main has everything.
    """

    def __init__(self, era, new, cells=()):
        self.era, self._new, self._made = era, new, []
        if cells:
            # Each cell still has the unused tables of the old layout.
            beside = dict.fromkeys(HOSTS, era) | dict.fromkeys(GROUPS, MITAKA)
            self.main = self._database(beside)
            self.cells = {name: self._database(beside) for name in cells}
            self.api = self.grouped = self._database(
                dict.fromkeys([*GROUPS, *MAPPINGS], era))
        else:
            self.main = self.grouped = self._database(
                dict.fromkeys([*HOSTS, *GROUPS], era))
            self.cells = {'': self.main}
            self.api = self._database(
                dict.fromkeys(MAPPINGS, era)) if era >= MITAKA else None

    def _database(self, tables):
        self._made.append(NovaDatabase(self._new(), tables))
        return self._made[-1]

    def close(self):
        """Close the idle connections of all databases."""
        for database in self._made:
            database.close()

    def map(self, uuid, name, url, hosts=(), **columns):
        """Map a cell and some of its hosts, as ``nova-manage cell_v2``."""
        self.api.add('cell_mappings', uuid=uuid, name=name,
                     transport_url='none:///', database_connection=url,
                     **columns)
        [row] = self.api.rows('cell_mappings', uuid=uuid)
        for host in hosts:
            self.api.add('host_mappings', host=host, cell_id=row['id'])

    def map_cell0(self):
        """Map main as cell0, which holds servers that never got a host."""
        self.map(cells.CELL0_UUID, 'cell0', self.main.url)

    def add_host(self, database, host, down=False, **columns):
        """Add a compute node and its service, last seen now or long ago."""
        now = datetime.datetime.now(datetime.UTC).replace(
            tzinfo=None, microsecond=0)
        seen = LONG_AGO if down else now
        database.add('compute_nodes', **clouds.a_compute_node(
            host, **{'created_at': LONG_AGO, 'updated_at': now, **columns}))
        # updated_at changes with an admin's edit, too; only Kilo takes it
        # for a heartbeat.
        database.add('services', **clouds.a_service(
            host, created_at=LONG_AGO, last_seen_up=seen,
            updated_at=seen if self.era == KILO else now))

    def add_aggregate(self, database, id, name, hosts, deleted=0, **metadata):
        """Add an aggregate; deleted: value in all its rows."""
        database.add('aggregates', id=id, name=name, uuid=clouds.a_uuid(),
                     deleted=deleted)
        for host in hosts:
            database.add('aggregate_hosts', aggregate_id=id, host=host,
                         deleted=deleted)
        for key, value in metadata.items():
            database.add('aggregate_metadata', aggregate_id=id, key=key,
                         value=value, deleted=deleted)

    def add_group(self, database, uuid, member, policy, deleted=0):
        """Add a server group of one instance; deleted: as above."""
        database.add('instance_groups', uuid=uuid, name=policy,
                     deleted=deleted)
        group = database.rows('instance_groups', uuid=uuid)[0]['id']
        database.add('instance_group_policy', group_id=group, policy=policy,
                     deleted=deleted)
        database.add('instance_group_member', group_id=group,
                     instance_id=member, instance_uuid=member,
                     deleted=deleted)
