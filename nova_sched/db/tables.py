"""The tables of Nova that the scheduler reads, as SQLAlchemy Core metadata.

Names, column types and uniqueness rules are the same as in Nova's schema, so
that the same statements read a Nova database and the embedded database. The
tables compute_nodes and services are complete; the others have the columns
that a scheduler needs.

The tables compute_nodes, services, instances and instance_system_metadata
belong to a cell's database, the others to the API database; the embedded
database holds both.  Rows of cell tables are soft-deleted (``deleted`` is 0,
or the row's id once it is deleted), rows of API tables are removed.
Timestamps are naive UTC; MySQL keeps whole seconds.
"""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData()

# A serialized NUMA topology or RequestSpec outgrows MySQL's 64 KB TEXT.
MediumText = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')

# Without it, SQLite reuses the id of a deleted last row, unlike MySQL, and
# max(id) would not show that a row was deleted and another inserted.
_TABLE_ARGS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8',
               'sqlite_autoincrement': True}


def _columns(kind, names, **kw):
    return [sa.Column(name, kind, **kw) for name in names.split()]


def _texts(names, **kw):
    return _columns(sa.String(255), names, **kw)


def _table(name, *items, deletion=()):
    return sa.Table(
        name, metadata, *_columns(sa.DateTime, 'created_at updated_at'),
        *deletion,
        sa.Column('id', sa.Integer, primary_key=True, nullable=False),
        *items, **_TABLE_ARGS)


def _cell_table(name, *items):
    return _table(name, *items, deletion=[
        sa.Column('deleted_at', sa.DateTime),
        sa.Column('deleted', sa.Integer)])


compute_nodes = _cell_table(
    'compute_nodes',
    sa.Column('uuid', sa.String(36)),
    *_texts('host hypervisor_hostname'),
    sa.Column('service_id', sa.Integer),
    *_columns(sa.Integer, 'vcpus memory_mb local_gb vcpus_used memory_mb_used '
              'local_gb_used', nullable=False),
    *_columns(sa.Integer, 'free_ram_mb free_disk_gb disk_available_least '
              'current_workload running_vms'),
    sa.Column('hypervisor_type', MediumText, nullable=False),
    sa.Column('hypervisor_version', sa.Integer, nullable=False),
    sa.Column('cpu_info', MediumText, nullable=False),
    sa.Column('host_ip', sa.String(39)),
    *_columns(sa.Text, 'supported_instances pci_stats metrics extra_resources '
              'stats numa_topology'),
    *_columns(sa.Float, 'ram_allocation_ratio cpu_allocation_ratio '
              'disk_allocation_ratio'),
    sa.Column('mapped', sa.Integer),
    sa.Index('compute_nodes_uuid_idx', 'uuid', unique=True),
    sa.UniqueConstraint(
        'host', 'hypervisor_hostname', 'deleted',
        name='uniq_compute_nodes0host0hypervisor_hostname0deleted'),
)

services = _cell_table(
    'services',
    sa.Column('uuid', sa.String(36)),
    *_texts('host binary topic'),
    sa.Column('report_count', sa.Integer, nullable=False),
    sa.Column('disabled', sa.Boolean(create_constraint=False)),
    *_texts('disabled_reason'),
    sa.Column('last_seen_up', sa.DateTime),
    sa.Column('forced_down', sa.Boolean(create_constraint=False)),
    sa.Column('version', sa.Integer),
    sa.Index('services_uuid_idx', 'uuid', unique=True),
    sa.UniqueConstraint('host', 'topic', 'deleted',
                        name='uniq_services0host0topic0deleted'),
    sa.UniqueConstraint('host', 'binary', 'deleted',
                        name='uniq_services0host0binary0deleted'),
)

instances = _cell_table(
    'instances',
    sa.Column('uuid', sa.String(36), nullable=False),
    *_texts('host node'),
    sa.Column('compute_id', sa.BigInteger),
    *_texts('project_id user_id vm_state task_state'),
    *_columns(sa.Integer, 'power_state memory_mb vcpus root_gb ephemeral_gb '
              'instance_type_id'),
    *_texts('image_ref availability_zone os_type'),
    sa.Column('cleaned', sa.Integer),
    sa.Column('hidden', sa.Boolean(create_constraint=False)),
    sa.UniqueConstraint('uuid', name='uniq_instances0uuid'),
    sa.Index('instances_host_node_deleted_idx', 'host', 'node', 'deleted'),
    sa.Index('instances_host_deleted_cleaned_idx',
             'host', 'deleted', 'cleaned'),
    sa.Index('instances_uuid_deleted_idx', 'uuid', 'deleted'),
)

instance_system_metadata = _cell_table(
    'instance_system_metadata',
    sa.Column('instance_uuid', sa.String(36), nullable=False),
    *_texts('key', nullable=False),
    *_texts('value'),
    sa.Index('instance_uuid', 'instance_uuid'),
)

aggregates = _table(
    'aggregates',
    sa.Column('uuid', sa.String(36)),
    *_texts('name'),
    sa.Index('aggregate_uuid_idx', 'uuid'),
    sa.UniqueConstraint('name', name='uniq_aggregate0name'),
)

aggregate_hosts = _table(
    'aggregate_hosts',
    *_texts('host'),
    sa.Column('aggregate_id', sa.ForeignKey('aggregates.id'),
              nullable=False),
    sa.UniqueConstraint('host', 'aggregate_id',
                        name='uniq_aggregate_hosts0host0aggregate_id'),
)

aggregate_metadata = _table(
    'aggregate_metadata',
    sa.Column('aggregate_id', sa.ForeignKey('aggregates.id'),
              nullable=False),
    *_texts('key value', nullable=False),
    sa.UniqueConstraint('aggregate_id', 'key',
                        name='uniq_aggregate_metadata0aggregate_id0key'),
    sa.Index('aggregate_metadata_key_idx', 'key'),
)

instance_groups = _table(
    'instance_groups',
    sa.Column('uuid', sa.String(36), nullable=False),
    *_texts('user_id project_id name'),
    sa.UniqueConstraint('uuid', name='uniq_instance_groups0uuid'),
)

instance_group_policy = _table(
    'instance_group_policy',
    *_texts('policy'),
    sa.Column('group_id', sa.ForeignKey('instance_groups.id'),
              nullable=False),
    sa.Column('rules', sa.Text),
    sa.Index('instance_group_policy_policy_idx', 'policy'),
)

instance_group_member = _table(
    'instance_group_member',
    *_texts('instance_uuid'),
    sa.Column('group_id', sa.ForeignKey('instance_groups.id'),
              nullable=False),
    sa.Index('instance_group_member_instance_idx', 'instance_uuid'),
)

cell_mappings = _table(
    'cell_mappings',
    sa.Column('uuid', sa.String(36), nullable=False),
    *_texts('name'),
    *_columns(sa.Text, 'transport_url database_connection'),
    sa.Column('disabled', sa.Boolean(create_constraint=False)),
    sa.UniqueConstraint('uuid', name='uniq_cell_mappings0uuid'),
)

host_mappings = _table(
    'host_mappings',
    sa.Column('cell_id', sa.ForeignKey('cell_mappings.id'), nullable=False),
    *_texts('host', nullable=False),
    sa.UniqueConstraint('host', name='uniq_host_mappings0host'),
)
