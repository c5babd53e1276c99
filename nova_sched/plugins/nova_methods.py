"""Methods of Nova's classes that documents show, and what becomes of them.

A class of somebody else's that overrides one of them is either asked through
it, or refused at start with what takes the method's place: ``check``.  A
method is asked if the classes here that it derives from have it; so the table
says when, or what else to do, and the classes say which.
``doc/source/nova-methods.rst`` is this table.
"""

from nova_sched import exception

_STEPS = ('override _schedule or select_destinations of '
          'nova.scheduler.filter_scheduler.FilterScheduler, or write a filter '
          'or a weigher')
_ROWS = ('hosts are read as a table, with their services, aggregates and '
         'instances; set what is to differ in a filter, on the host state')
_TABLE = ('cells and aggregates are read from the database when they change; '
          'override make_record to change a host')
_NEWS = ('where instances run is read when a request asks; there is no news '
         'to take')

#: What a driver may override, of any release.
DRIVER = {
    'select_destinations': 'once per request, in the form of its release',
    'run_periodic_tasks':
        'every [scheduler] periodic_task_interval seconds',
    'schedule_run_instance': 'write select_destinations',
    'schedule_prep_resize': 'write select_destinations',
    'schedule_live_migration': 'write select_destinations',
}

#: What one that derives from FilterScheduler may override besides.
FILTER_SCHEDULER = {
    '_schedule': 'select_destinations of '
                 'nova.scheduler.filter_scheduler.FilterScheduler asks it, in '
                 'the form of its release; derive from that class',
    '_get_all_host_states': _STEPS,
    '_get_sorted_hosts': _STEPS,
    '_consume_selected_host': _STEPS,
    '_ensure_sufficient_hosts': _STEPS,
    '_get_alternate_hosts': _STEPS,
    '_legacy_find_hosts': 'a request without claims takes the same steps as '
                          'one with claims; ' + _STEPS,
    '_claim_resources': 'claims are made by the driver here; ' + _STEPS,
    '_cleanup_allocations': 'claims are given back by themselves',
    '_get_configuration_options':
        'filters and weighers get what is in the file that [DEFAULT] '
        'scheduler_json_config_location names, as config_options',
    'populate_filter_properties':
        'filters get project_id and os_type as before; what else they need '
        'a filter reads from the request itself',
    '_get_up_hosts': 'the caching driver has its hosts from the host manager',
}

#: What one that derives from ChanceScheduler may override besides.
CHANCE_SCHEDULER = {
    '_filter_hosts': 'override select_destinations',
    '_schedule': 'override select_destinations',
}

#: What a host manager may override.
HOST_MANAGER = {
    'get_all_host_states': _ROWS,
    'get_host_states_by_uuids': _ROWS,
    'get_filtered_hosts': 'write a filter',
    'get_filters_hosts': 'the name is a misprint of get_filtered_hosts',
    'get_weighed_hosts': 'write a weigher',
    'get_weighted_hosts': 'the name is a misprint of get_weighed_hosts',
    'host_state_cls': _ROWS,
    '_choose_host_filters': 'name filters in [filter_scheduler] '
                            'enabled_filters',
    '_load_filters': 'name filters in [filter_scheduler] enabled_filters',
    'filter_cls_map': 'name filters in [filter_scheduler] available_filters',
    'filter_obj_map': 'name filters in [filter_scheduler] available_filters',
    'default_filters': 'name filters in [filter_scheduler] enabled_filters',
    'enabled_filters': 'name filters in [filter_scheduler] enabled_filters',
    'filter_handler': 'filters run as columns; write a filter_all',
    'weight_handler': 'weighers run as columns; write a weigh_objects',
    'weighers': 'name weighers in [filter_scheduler] weight_classes',
    '_get_computes_for_cells': _ROWS,
    '_get_host_states': _ROWS,
    '_get_aggregates_info': _ROWS,
    '_get_instance_info': _ROWS,
    '_get_instances_by_host': _ROWS,
    '_add_instance_info': _ROWS,
    '_init_instance_info': _NEWS,
    'update_instance_info': _NEWS,
    'delete_instance_info': _NEWS,
    'sync_instance_info': _NEWS,
    '_init_aggregates': _TABLE,
    'update_aggregates': _TABLE,
    'delete_aggregate': _TABLE,
    '_load_cells': _TABLE,
    'refresh_cells_caches': _TABLE,
    '_get_cell_mapping_for_host': _TABLE,
    'get_compute_nodes_by_host_or_node': 'find_nodes does this here',
}


def is_asked(cls, name):
    """Whether a method that a class may override is called here."""
    return any(name in vars(base) for base in cls.__mro__ if _is_ours(base))


def check(cls, option):
    """Raise ConfigurationError if a class has a method nobody would call.

    cls: driver or host manager; its ``NOVA_METHODS`` is one of the tables.
    option: ``[group] name`` for messages.
    """
    methods = getattr(cls, 'NOVA_METHODS', {})
    for base in cls.__mro__:
        if _is_ours(base):
            continue
        for name in methods:
            if name in vars(base) and not is_asked(cls, name):
                raise exception.ConfigurationError(
                    option, f'{cls.__module__}.{cls.__qualname__}',
                    f'its {name} would never be called: {methods[name]}; see '
                    'doc/source/nova-methods.rst')


def _is_ours(cls):
    return cls.__module__.startswith('nova_sched.')
