"""Documented methods of Nova's classes, and how the service treats overrides.

An override in a plug-in is called if a base class here has the method;
otherwise the plug-in is refused at start with an alternative (``check``).
``doc/source/nova-methods.rst`` has these tables.
"""

import typing

from nova_sched import exception
from nova_sched.plugins.classes import is_built_in as is_ours


class Method(typing.NamedTuple):
    """The treatment of an override.

    instead: the alternative, for an override that is not called.
    called: when the override is called; None for never.
    served_by: method of the same class that is called in its place.
    """

    instead: str
    called: str | None = None
    served_by: str | None = None


def _of_driver(called):
    return Method('derive from nova.scheduler.driver.Scheduler', called)


def _of_steps(called):
    return Method(
        'derive from nova.scheduler.filter_scheduler.FilterScheduler', called)


def _of_manager(called):
    return Method('derive from nova.scheduler.host_manager.HostManager',
                  called)


_INSTANCES = Method(
    'the hosts of instances are read for each request, by uuid; set '
    'host_state.instances in _get_host_states or in a filter, for filters and '
    'weighers of your own')
_TABLE = Method(
    'cells and aggregates are read from the database when they change; '
    'override make_record to change a host')
_NEWS = Method('the hosts of instances are read for each request; there are '
               'no updates to receive')

#: Overrides of drivers, of any release.
DRIVER = {
    'select_destinations': _of_driver(
        'once a request, with its own arguments'),
    'run_periodic_tasks': _of_driver(
        'every [scheduler] periodic_task_interval seconds'),
    **dict.fromkeys(
        ('schedule_run_instance', 'schedule_prep_resize',
         'schedule_live_migration'),
        Method('override select_destinations; this method may stay',
               served_by='select_destinations')),
}

#: Further overrides of drivers derived from FilterScheduler.
FILTER_SCHEDULER = {
    '_schedule': _of_steps(
        'once a request, by select_destinations, with its own arguments'),
    '_get_all_host_states': _of_steps(
        'once a request, before anything is filtered'),
    '_get_sorted_hosts': _of_steps(
        'once an instance, and once more for the alternates of several'),
    '_consume_selected_host': _of_steps(
        'once an instance, for the host that it gets'),
    '_ensure_sufficient_hosts': _of_steps(
        'once a request, with the chosen hosts; with too few of them the '
        'request fails even if it returns'),
    '_get_alternate_hosts': _of_steps(
        'once a request, when all instances have hosts'),
    '_get_configuration_options': _of_steps(
        'once a request; its result is config_options'),
    '_legacy_find_hosts': Method(
        'a request without claims takes the same steps as one with claims; '
        'override _get_sorted_hosts or _schedule'),
    '_claim_resources': Method('claims are made by the driver here; override '
                               '_get_sorted_hosts or _schedule'),
    '_cleanup_allocations': Method(
        'the service releases the claims of a failed request; an overridden '
        '_schedule calls _ensure_sufficient_hosts for its own claims'),
    'populate_filter_properties': Method(
        'filters get project_id and os_type as before; a filter reads other '
        'values from the request itself'),
    '_get_up_hosts': Method(
        'the caching driver gets its hosts from the host manager'),
}

#: Further overrides of drivers derived from ChanceScheduler.
CHANCE_SCHEDULER = {
    '_filter_hosts': Method('override select_destinations'),
    '_schedule': Method('override select_destinations'),
}

#: Overrides of host managers.
HOST_MANAGER = {
    'get_all_host_states': _of_manager(
        'once a request, unless get_host_states_by_uuids is overridden, too'),
    'get_host_states_by_uuids': _of_manager('once a request'),
    'get_filtered_hosts': _of_manager(
        'once an instance, and once more for the alternates of several'),
    'get_filters_hosts': Method(
        'the name is a misprint of get_filtered_hosts'),
    'get_weighed_hosts': _of_manager(
        'after get_filtered_hosts, if that leaves a host'),
    'get_weighted_hosts': Method(
        'the name is a misprint of get_weighed_hosts'),
    'host_state_cls': _of_manager(
        'once a host and request; a class may take the place of the method'),
    '_choose_host_filters': _of_manager(
        'at the start, with what _load_filters returns'),
    '_load_filters': _of_manager('at the start'),
    'filter_cls_map': _of_manager('by _choose_host_filters'),
    'filter_obj_map': _of_manager('by _choose_host_filters'),
    'default_filters': _of_manager('in place of what _load_filters names'),
    'enabled_filters': _of_manager('in place of what _load_filters names'),
    'filter_handler': _of_manager(
        'its get_filtered_objects by get_filtered_hosts'),
    'weight_handler': _of_manager(
        'its get_weighed_objects by get_weighed_hosts'),
    'weighers': _of_manager(
        'in place of what [filter_scheduler] weight_classes names'),
    '_get_computes_for_cells': _of_manager('once a request'),
    '_get_host_states': _of_manager(
        'once a request, with what _get_computes_for_cells returns'),
    '_get_aggregates_info': _of_manager('once a host and request'),
    '_get_instance_info': _INSTANCES,
    '_get_instances_by_host': _INSTANCES,
    '_add_instance_info': _INSTANCES,
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
    'get_compute_nodes_by_host_or_node': Method('find_nodes does this here'),
}

#: Overrides that make a driver decide host state by host state ...
STEPS = ('_get_all_host_states', '_get_sorted_hosts',
         '_consume_selected_host', '_ensure_sufficient_hosts',
         '_get_alternate_hosts')
#: ... and those of a host manager.
BY_ROWS = ('get_all_host_states', 'get_host_states_by_uuids',
           'get_filtered_hosts', 'get_weighed_hosts', 'host_state_cls',
           'filter_handler', 'weight_handler', '_get_computes_for_cells',
           '_get_host_states', '_get_aggregates_info')
#: Overrides that choose filters and weighers.
RULES = ('_load_filters', '_choose_host_filters', 'filter_cls_map',
         'filter_obj_map', 'default_filters', 'enabled_filters', 'weighers')


#: Class of this service -> overrides of derived classes.
_TABLES = {
    'nova_sched.scheduler.driver.Scheduler': DRIVER,
    'nova_sched.scheduler.filter_scheduler.FilterScheduler': FILTER_SCHEDULER,
    'nova_sched.scheduler.chance.ChanceScheduler': CHANCE_SCHEDULER,
    'nova_sched.scheduler.host_manager.HostManager': HOST_MANAGER,
}


def methods_of(cls):
    """Return Nova's methods of a driver or host manager: name -> Method."""
    return {name: method for base in reversed(cls.__mro__)
            for name, method in _TABLES.get(
                f'{base.__module__}.{base.__qualname__}', {}).items()}


def to_call_alone(function):
    """Mark a method that drivers may call and do not override."""
    function.to_call_alone = True
    return function


def is_called(cls, name):
    """Return whether the service calls a method that a class may override."""
    return any(name in vars(base)
               and not getattr(vars(base)[name], 'to_call_alone', False)
               for base in cls.__mro__ if is_ours(base))


def overridden(made, names):
    """Return the names of attributes that a plug-in overrides: list.

    By its class, or by setting an attribute to an object of a class that is
    not this service's.
    """
    def is_theirs(name):
        if name in vars(made):
            return not is_ours(type(vars(made)[name]))
        return not is_ours(next(
            (base for base in type(made).__mro__ if name in vars(base)),
            Methodless))
    return [name for name in names if is_theirs(name)]


def check(given, option):
    """Raise ConfigurationError for an override that is never called.

    given: driver or host manager, or its class.
    option: ``[group] name`` for messages.
    """
    cls = given if isinstance(given, type) else type(given)
    methods = methods_of(cls)
    theirs = [vars(base) for base in cls.__mro__ if not is_ours(base)]
    if given is not cls:
        theirs.append(vars(given))
    for name, method in methods.items():
        if not is_called(cls, name) and any(
                name in own for own in theirs) and not any(
                method.served_by in own for own in theirs):
            raise exception.ConfigurationError(
                option, f'{cls.__module__}.{cls.__qualname__}',
                f'its {name} would never be called: {method.instead}; '
                'if it is your own, give it another name; see '
                'doc/source/nova-methods.rst')


class Methodless:
    """The owner of a name that no class has."""
