"""Documented methods of Nova's classes, and how the service treats overrides.

An override in a plug-in is called if a base class here has the method;
otherwise the plug-in is refused at start with an alternative (``check``).
``doc/source/nova-methods.rst`` has these tables.
"""

import typing

from nova_sched import exception
from nova_sched import toml_files
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


def _methods(name, derive_from):
    """Return the overrides of derived classes in the table: name -> Method.
    """
    rows = toml_files.read('nova_methods.toml', __package__)[name]
    return {method: Method(f'derive from nova.scheduler.{derive_from}', called)
            for method, called in rows.get('called', {}).items()} | {
        method: Method(row['instead'], served_by=row.get('served_by'))
        for row in rows.get('refused', ()) for method in row['names']}


#: Overrides of drivers, of any release.
DRIVER = _methods('driver', 'driver.Scheduler')
#: Further overrides of drivers derived from FilterScheduler.
FILTER_SCHEDULER = _methods('filter_scheduler',
                            'filter_scheduler.FilterScheduler')
#: Further overrides of drivers derived from ChanceScheduler.
CHANCE_SCHEDULER = _methods('chance_scheduler', 'chance.ChanceScheduler')
#: Overrides of host managers.
HOST_MANAGER = _methods('host_manager', 'host_manager.HostManager')

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
        owners = [base for base in type(made).__mro__ if name in vars(base)]
        return bool(owners) and not is_ours(owners[0])
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
