"""Loading the filters and weighers that the configuration names.

Every mistake is refused at start, with the option, the value and the nearest
right name.
"""

import itertools

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched import nova_compat
from nova_sched import weights as base_weights
from nova_sched.options import nearest
from nova_sched.plugins import classes
from nova_sched.plugins import rule_methods
from nova_sched.scheduler import filters
from nova_sched.scheduler import ranking
from nova_sched.scheduler import weights

_AVAILABLE = '[filter_scheduler] available_filters'
_ENABLED = '[filter_scheduler] enabled_filters'
_BAREMETAL = '[filter_scheduler] baremetal_enabled_filters'
_WEIGHERS = '[filter_scheduler] weight_classes'

#: The options that ``problems`` checks.
OPTIONS = (_AVAILABLE, _ENABLED, _BAREMETAL, _WEIGHERS)

_ALL_FILTERS = 'nova.scheduler.filters.all_filters'

#: A filter must define at least one of these methods ...
_FILTER_METHODS = ('host_passes', 'mask', '_filter_one', 'filter_all', 'keep')
#: ... and a weigher one of these.
_WEIGHER_METHODS = ('_weigh_object', 'column', 'weigh_objects', 'raw')

#: Name of the method ``weight_multiplier`` until Havana.
_OLD_MULTIPLIER = '_weight_multiplier'

#: Similarity from which a name counts as a misspelling.
_LIKE = 0.85

#: Base classes; their own methods do not count as definitions.
_BASES = (base_filters.BaseFilter, filters.BaseHostFilter,
          filters.ColumnFilter, base_weights.BaseWeigher,
          weights.BaseHostWeigher, weights.ColumnWeigher)


def all_filters():
    """Return the classes of all built-in filters."""
    return filters.all_filters()


def all_weighers():
    """Return the classes of all built-in weighers, in the order they run."""
    return weights.all_weighers()


def problems(conf):
    """Return the errors that prevent filters and weighers from loading: list.

    One ConfigurationError for each path or name that cannot be used.
    """
    return _filters(conf)[1] + _weighers(conf)[1]


def available_filters(conf):
    """Return the filters that ``enabled_filters`` may name: name -> class.

    Raises ConfigurationError for a path that leads to no filter.
    """
    return _or_first_error(_available(conf))


def load_filters(conf):
    """Return the filters that run, in their order, configured: list of
    objects.

    A filter that is enabled twice runs twice, as one object.
    Raises ConfigurationError for a name that is no available filter, and for
    a filter that cannot work.
    """
    loaded = _or_first_error(_filters(conf))
    return [loaded[name] for name in config.enabled_filters(conf)]


def load_weighers(conf):
    """Return the weighers that run, in their order, configured: list of
    objects.

    Raises ConfigurationError for a path that leads to no weigher, and for a
    weigher that cannot work.
    """
    return _or_first_error(_weighers(conf))


def load_ranker(conf):
    """Return the filters and weighers that run, as a ``ranking.Ranker``.

    Raises ConfigurationError as the two functions above do.
    """
    classes.provide_names(conf)
    return ranker(load_filters(conf), load_weighers(conf))


def ranker(filters, weighers):
    """Return the Ranker of rules, with adapters if one is a plug-in.

    filters, weighers: lists of objects, in the order they run.
    """
    if all(classes.is_built_in(type(rule)) for rule in (*filters, *weighers)):
        return ranking.Ranker(filters, weighers)
    compat = nova_compat.loaded()
    return ranking.Ranker(compat.adapted_filters(filters),
                          compat.adapted_weighers(weighers),
                          has_plug_ins=True)


def make_filter(cls, conf):
    """Return a filter of a class, configured as when the service loads it.

    Raises ConfigurationError for a class that cannot judge or be made.
    """
    return _made(cls, _AVAILABLE, _FILTER_METHODS, conf)


def make_weigher(cls, conf):
    """Return a weigher of a class; otherwise as ``make_filter``."""
    if _owner(cls, _OLD_MULTIPLIER) < _owner(cls, 'weight_multiplier'):
        raise exception.ConfigurationError(
            _WEIGHERS, f'{cls.__module__}.{cls.__qualname__}',
            f'its {_OLD_MULTIPLIER}, the name until Havana, is never called; '
            'rename it to weight_multiplier')
    return _made(cls, _WEIGHERS, _WEIGHER_METHODS, conf)


def _or_first_error(found):
    result, errors = found
    if errors:
        raise errors[0]
    return result


def _each(items, load):
    """Return (the results of ``load`` for the items, the errors of others)."""
    made, errors = [], []
    for item in items:
        try:
            made.append(load(item))
        except exception.ConfigurationError as error:
            errors.append(error)
    return made, errors


def _available(conf):
    """Return ({name: class}, errors)"""
    found, errors = _each(
        conf.filter_scheduler.available_filters,
        lambda path: classes.load_classes(
            path, base_filters.BaseFilter, all_filters, _AVAILABLE))
    return classes.by_name(itertools.chain.from_iterable(found)), errors


def _filters(conf):
    """Return ({name: object}, errors)"""
    available, errors = _available(conf)
    if errors:
        return {}, errors

    option = (_BAREMETAL if config.uses_baremetal_filters(conf)
              else _ENABLED)

    def load(name):
        if name not in available:
            raise exception.ConfigurationError(
                option, name, _unknown_filter(name, available))
        return name, _made(available[name], option, _FILTER_METHODS, conf)

    loaded, errors = _each(dict.fromkeys(config.enabled_filters(conf)), load)
    return dict(loaded), errors


def _weighers(conf):
    """Return ([object], errors)"""
    def load(path):
        return [make_weigher(cls, conf) for cls in classes.load_classes(
            path, base_weights.BaseWeigher, all_weighers, _WEIGHERS)]

    loaded, errors = _each(conf.filter_scheduler.weight_classes, load)
    return list(itertools.chain.from_iterable(loaded)), errors


def _unknown_filter(name, available):
    """Return the advice for a name that is not an available filter: text."""
    if '.' in name:
        return (f'takes class names; name the path in {_AVAILABLE} and '
                f'write {name.rsplit(".", 1)[-1]} here')
    if name in (cls.__name__ for cls in all_filters()):
        return (f'not among {_AVAILABLE}; add to that option a value '
                f'{_ALL_FILTERS}')
    return f'no such filter; {nearest.did_you_mean(name, available)}'


def _made(cls, option, methods, conf):
    """Return an object of a plug-in class, configured.

    Raises ConfigurationError for a class without a method that judges hosts,
    and for any error of its code.
    """
    name = f'{cls.__module__}.{cls.__qualname__}'
    own = [method for method in methods if _is_own(cls, method)]
    if not own:
        raise exception.ConfigurationError(
            option, name, f'defines none of {", ".join(methods)}; '
            + (_misspelt(cls, methods)
               or f'write {methods[0]} to judge one host, or {methods[1]} to '
               'judge all at once by columns'))
    made = classes.set_up(lambda: _configured(cls(), conf), option, name)
    if wrong := rule_methods.fault(made, own):
        raise exception.ConfigurationError(option, name, wrong)
    return made


def _configured(plugin, conf):
    configure = getattr(plugin, 'configure', None)
    if configure is not None:
        configure(conf)
    return plugin


def _misspelt(cls, methods):
    """Return the advice for a misspelt method of a class: text, or None."""
    for name in dir(cls):
        right = nearest.nearest(name, methods, _LIKE)
        if right and _is_own(cls, name):
            return f'it has {name}; did you mean {right}?'
    return None


def _is_own(cls, method):
    """Return whether a class has a method that no base class defines."""
    return any(method in vars(parent) for parent in cls.__mro__
               if parent not in _BASES and parent is not object)


def _owner(cls, method):
    """Return the place in ``__mro__`` of the class that defines a method.

    The length of ``__mro__`` if none does.
    """
    owners = [method in vars(parent) for parent in cls.__mro__]
    return owners.index(True) if True in owners else len(owners)
