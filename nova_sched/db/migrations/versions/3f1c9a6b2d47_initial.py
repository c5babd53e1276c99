"""Nova's tables as far as the scheduler needs them

Revision ID: 3f1c9a6b2d47
Revises:
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '3f1c9a6b2d47'
down_revision = None

_TABLE_ARGS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8',
               'sqlite_autoincrement': True}


def _medium_text():
    return sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')


def upgrade():
    _hosts()
    _instances()
    _aggregates()
    _instance_groups()
    _cells()


def _hosts():
    op.create_table(
        'compute_nodes',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('deleted_at', sa.DateTime()),
        sa.Column('deleted', sa.Integer()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36)),
        sa.Column('host', sa.String(255)),
        sa.Column('hypervisor_hostname', sa.String(255)),
        sa.Column('service_id', sa.Integer()),
        sa.Column('vcpus', sa.Integer(), nullable=False),
        sa.Column('memory_mb', sa.Integer(), nullable=False),
        sa.Column('local_gb', sa.Integer(), nullable=False),
        sa.Column('vcpus_used', sa.Integer(), nullable=False),
        sa.Column('memory_mb_used', sa.Integer(), nullable=False),
        sa.Column('local_gb_used', sa.Integer(), nullable=False),
        sa.Column('free_ram_mb', sa.Integer()),
        sa.Column('free_disk_gb', sa.Integer()),
        sa.Column('disk_available_least', sa.Integer()),
        sa.Column('current_workload', sa.Integer()),
        sa.Column('running_vms', sa.Integer()),
        sa.Column('hypervisor_type', _medium_text(), nullable=False),
        sa.Column('hypervisor_version', sa.Integer(), nullable=False),
        sa.Column('cpu_info', _medium_text(), nullable=False),
        sa.Column('host_ip', sa.String(39)),
        sa.Column('supported_instances', sa.Text()),
        sa.Column('pci_stats', sa.Text()),
        sa.Column('metrics', sa.Text()),
        sa.Column('extra_resources', sa.Text()),
        sa.Column('stats', sa.Text()),
        sa.Column('numa_topology', sa.Text()),
        sa.Column('ram_allocation_ratio', sa.Float()),
        sa.Column('cpu_allocation_ratio', sa.Float()),
        sa.Column('disk_allocation_ratio', sa.Float()),
        sa.Column('mapped', sa.Integer()),
        sa.UniqueConstraint(
            'host', 'hypervisor_hostname', 'deleted',
            name='uniq_compute_nodes0host0hypervisor_hostname0deleted'),
        **_TABLE_ARGS)
    op.create_index('compute_nodes_uuid_idx', 'compute_nodes',
                    ['uuid'], unique=True)
    op.create_table(
        'services',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('deleted_at', sa.DateTime()),
        sa.Column('deleted', sa.Integer()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36)),
        sa.Column('host', sa.String(255)),
        sa.Column('binary', sa.String(255)),
        sa.Column('topic', sa.String(255)),
        sa.Column('report_count', sa.Integer(), nullable=False),
        sa.Column('disabled', sa.Boolean(create_constraint=False)),
        sa.Column('disabled_reason', sa.String(255)),
        sa.Column('last_seen_up', sa.DateTime()),
        sa.Column('forced_down', sa.Boolean(create_constraint=False)),
        sa.Column('version', sa.Integer()),
        sa.UniqueConstraint(
            'host', 'binary', 'deleted',
            name='uniq_services0host0binary0deleted'),
        sa.UniqueConstraint(
            'host', 'topic', 'deleted',
            name='uniq_services0host0topic0deleted'),
        **_TABLE_ARGS)
    op.create_index('services_uuid_idx', 'services',
                    ['uuid'], unique=True)


def _instances():
    op.create_table(
        'instances',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('deleted_at', sa.DateTime()),
        sa.Column('deleted', sa.Integer()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255)),
        sa.Column('node', sa.String(255)),
        sa.Column('compute_id', sa.BigInteger()),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('vm_state', sa.String(255)),
        sa.Column('task_state', sa.String(255)),
        sa.Column('power_state', sa.Integer()),
        sa.Column('memory_mb', sa.Integer()),
        sa.Column('vcpus', sa.Integer()),
        sa.Column('root_gb', sa.Integer()),
        sa.Column('ephemeral_gb', sa.Integer()),
        sa.Column('instance_type_id', sa.Integer()),
        sa.Column('image_ref', sa.String(255)),
        sa.Column('availability_zone', sa.String(255)),
        sa.Column('os_type', sa.String(255)),
        sa.Column('cleaned', sa.Integer()),
        sa.Column('hidden', sa.Boolean(create_constraint=False)),
        sa.UniqueConstraint(
            'uuid',
            name='uniq_instances0uuid'),
        **_TABLE_ARGS)
    op.create_index('instances_host_deleted_cleaned_idx', 'instances',
                    ['host', 'deleted', 'cleaned'])
    op.create_index('instances_host_node_deleted_idx', 'instances',
                    ['host', 'node', 'deleted'])
    op.create_index('instances_uuid_deleted_idx', 'instances',
                    ['uuid', 'deleted'])
    op.create_table(
        'instance_system_metadata',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('deleted_at', sa.DateTime()),
        sa.Column('deleted', sa.Integer()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('instance_uuid', sa.String(36), nullable=False),
        sa.Column('key', sa.String(255), nullable=False),
        sa.Column('value', sa.String(255)),
        **_TABLE_ARGS)
    op.create_index('instance_uuid', 'instance_system_metadata',
                    ['instance_uuid'])


def _aggregates():
    op.create_table(
        'aggregates',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36)),
        sa.Column('name', sa.String(255)),
        sa.UniqueConstraint(
            'name',
            name='uniq_aggregate0name'),
        **_TABLE_ARGS)
    op.create_index('aggregate_uuid_idx', 'aggregates',
                    ['uuid'])
    op.create_table(
        'aggregate_hosts',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('host', sa.String(255)),
        sa.Column('aggregate_id', sa.Integer(), sa.ForeignKey('aggregates.id'),
                  nullable=False),
        sa.UniqueConstraint(
            'host', 'aggregate_id',
            name='uniq_aggregate_hosts0host0aggregate_id'),
        **_TABLE_ARGS)
    op.create_table(
        'aggregate_metadata',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('aggregate_id', sa.Integer(), sa.ForeignKey('aggregates.id'),
                  nullable=False),
        sa.Column('key', sa.String(255), nullable=False),
        sa.Column('value', sa.String(255), nullable=False),
        sa.UniqueConstraint(
            'aggregate_id', 'key',
            name='uniq_aggregate_metadata0aggregate_id0key'),
        **_TABLE_ARGS)
    op.create_index('aggregate_metadata_key_idx', 'aggregate_metadata',
                    ['key'])


def _instance_groups():
    op.create_table(
        'instance_groups',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('user_id', sa.String(255)),
        sa.Column('project_id', sa.String(255)),
        sa.Column('name', sa.String(255)),
        sa.UniqueConstraint(
            'uuid',
            name='uniq_instance_groups0uuid'),
        **_TABLE_ARGS)
    op.create_table(
        'instance_group_policy',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('policy', sa.String(255)),
        sa.Column('group_id', sa.Integer(),
                  sa.ForeignKey('instance_groups.id'), nullable=False),
        sa.Column('rules', sa.Text()),
        **_TABLE_ARGS)
    op.create_index('instance_group_policy_policy_idx',
                    'instance_group_policy', ['policy'])
    op.create_table(
        'instance_group_member',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('instance_uuid', sa.String(255)),
        sa.Column('group_id', sa.Integer(),
                  sa.ForeignKey('instance_groups.id'), nullable=False),
        **_TABLE_ARGS)
    op.create_index('instance_group_member_instance_idx',
                    'instance_group_member', ['instance_uuid'])


def _cells():
    op.create_table(
        'cell_mappings',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255)),
        sa.Column('transport_url', sa.Text()),
        sa.Column('database_connection', sa.Text()),
        sa.Column('disabled', sa.Boolean(create_constraint=False)),
        sa.UniqueConstraint(
            'uuid',
            name='uniq_cell_mappings0uuid'),
        **_TABLE_ARGS)
    op.create_table(
        'host_mappings',
        sa.Column('created_at', sa.DateTime()),
        sa.Column('updated_at', sa.DateTime()),
        sa.Column('id', sa.Integer(), primary_key=True, nullable=False),
        sa.Column('cell_id', sa.Integer(), sa.ForeignKey('cell_mappings.id'),
                  nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.UniqueConstraint(
            'host',
            name='uniq_host_mappings0host'),
        **_TABLE_ARGS)
