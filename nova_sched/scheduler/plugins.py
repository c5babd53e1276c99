"""Loading the filters and weighers that the configuration names.

Every mistake is refused at start, with the option, the value and the nearest
right name.
"""

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched import loadables
from nova_sched import weights as base_weights
from nova_sched.conf import nearest
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights

LOG = logging.getLogger(__name__)

_ENABLED = '[filter_scheduler] enabled_filters'

#: Of these methods a filter must have at least one of its own ...
_FILTER_METHODS = ('host_passes', 'mask', '_filter_one', 'filter_all', 'keep')
#: ... and a weigher one of these.
_WEIGHER_METHODS = ('_weigh_object', 'column', 'weigh_objects', 'raw')

#: Where the methods that do nothing useful are.
_BASES = (base_filters.BaseFilter, filters.BaseHostFilter,
          filters.ColumnFilter, base_weights.BaseWeigher,
          weights.BaseHostWeigher, weights.ColumnWeigher)


def all_filters():
    """The classes of all built-in filters."""
    return filters.all_filters()


def all_weighers():
    """The classes of all built-in weighers, in the order they run."""
    return weights.all_weighers()


def available_filters(conf):
    """The filters that ``enabled_filters`` may name: name -> class.

    Raises ConfigurationError for a path that leads to no filter.
    """
    return loadables.by_name(loadables.load_classes(
        conf.filter_scheduler.available_filters, filters.BaseHostFilter,
        all_filters, loadables.FILTERS_OPTION))


def load_filters(conf):
    """The filters that run, in their order, configured: list of objects.

    A filter that is enabled twice runs twice, as one object.
    Raises ConfigurationError for a name that is no available filter, and for
    a filter that cannot work.
    """
    available, loaded = available_filters(conf), {}
    names = config.enabled_filters(conf)
    for name in dict.fromkeys(names):
        if name not in available:
            raise exception.ConfigurationError(
                _ENABLED, name, _unknown_filter(name, available))
        loaded[name] = _made(available[name], _ENABLED, _FILTER_METHODS, conf)
    if conf.filter_scheduler.enabled_filters is not None:
        _warn_of_removed(loaded)
    return [loaded[name] for name in names]


def load_weighers(conf):
    """The weighers that run, in their order, configured: list of objects.

    Raises ConfigurationError for a path that leads to no weigher, and for a
    weigher that cannot work.
    """
    classes = loadables.load_classes(
        conf.filter_scheduler.weight_classes, weights.BaseHostWeigher,
        all_weighers, loadables.WEIGHERS_OPTION)
    return [_made(cls, loadables.WEIGHERS_OPTION, _WEIGHER_METHODS, conf)
            for cls in classes]


def _unknown_filter(name, available):
    last = name.rsplit('.', 1)[-1]
    if '.' in name:
        return ('takes class names; name the path in available_filters and '
                f'write {last} here')
    return f'no such filter; {nearest.did_you_mean(name, available)}'


def _made(cls, option, methods, conf):
    """An object of a plug-in class, configured.

    Refuses classes without a method to judge hosts by, and reports whatever
    goes wrong in the making.
    """
    name = f'{cls.__module__}.{cls.__qualname__}'
    if not any(_is_own(cls, method) for method in methods):
        raise exception.ConfigurationError(
            option, name, f'defines none of {", ".join(methods)}; write '
            f'{methods[0]} to judge one host, or {methods[1]} to judge all '
            'at once by columns')
    try:
        plugin = cls()
        configure = getattr(plugin, 'configure', None)
        if configure is not None:
            configure(conf)
    except Exception as exc:
        # Another author's class may fail in any way; the operator needs to
        # know which option brought it in.
        raise exception.ConfigurationError(
            option, name, f'cannot be set up: {exc!r}') from exc
    return plugin


def _is_own(cls, method):
    """Whether a class has a method from elsewhere than the base classes."""
    return any(method in vars(parent) for parent in cls.__mro__
               if parent not in _BASES and parent is not object)


def _warn_of_removed(loaded):
    for name, plugin in loaded.items():
        release = loadables.REMOVED_FILTERS.get(name)
        if release and type(plugin).__module__.startswith(filters.__name__):
            LOG.warning('%(name)s was removed from Nova in %(release)s; it '
                        'is part of this service and runs.',
                        {'name': name, 'release': release})
