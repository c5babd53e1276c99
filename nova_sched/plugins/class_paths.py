"""Finding filter and weigher classes by the paths that options name.

Rules (Nova's, from Kilo on):

1. A path is a module and, after its last dot, an attribute (``load_classes``).
   A public class derived from the base class is taken; a plain function is
   called without arguments and the classes it returns are taken unchecked;
   anything else is a ConfigurationError.
2. ``nova.scheduler.filters.all_filters`` and
   ``nova.scheduler.weights.all_weighers`` stand for all built-in classes,
   and Nova's class paths for the built-in classes of the same names.
3. Classes are known by their bare names. Of two classes with one name the
   later one counts (``by_name``), so one's own class can take the place of a
   built-in.
"""

import collections.abc
import functools
import importlib
import inspect

from nova_sched import exception
from nova_sched.options import nearest
from nova_sched.rules import built_ins
from nova_sched.rules.nova_classes import FILTER_MODULES
from nova_sched.rules.nova_classes import WEIGHER_MODULES

FILTERS_OPTION = '[filter_scheduler] available_filters'
WEIGHERS_OPTION = '[filter_scheduler] weight_classes'

#: Path prefix -> (modules of Nova's, the name for all of them, the option).
_PACKAGES = {
    'scheduler.filters.': (FILTER_MODULES, 'all_filters', FILTERS_OPTION),
    'scheduler.weights.': (WEIGHER_MODULES, 'all_weighers', WEIGHERS_OPTION),
}


def load_classes(paths, base, package_classes, option=None):
    """The classes that the values of an option name: list, in their order.

    paths: dotted paths, or one as text.  base: what classes must derive from.
    package_classes: the built-in classes, which Nova's paths stand for, or a
    function that returns them.  option: ``[group] name`` for messages.
    Raises ConfigurationError, naming the option, the path and the nearest
    right path, when a path leads to no such class.
    """
    paths = [paths] if isinstance(paths, str) else paths
    load = functools.partial(_load_one, base=base,
                             built_in=_Once(package_classes), option=option)
    return [cls for path in paths for cls in load(path.strip())]


def by_name(classes):
    """Classes by bare name; of two with one name the later: dict."""
    return {cls.__name__: cls for cls in classes}


class _Once:
    """The built-in classes by name, found when first asked for."""

    def __init__(self, classes):
        self._classes = classes

    @functools.cached_property
    def by_name(self):
        classes = self._classes
        return by_name(classes() if callable(classes) else classes)


def _load_one(path, base, built_in, option):
    for root in ('nova.', 'nova_sched.'):
        for prefix, package in _PACKAGES.items():
            if path.startswith(root + prefix):
                found = _built_in(path, root + prefix, package, built_in,
                                  option)
                if found is not None:
                    return found
    target = _import(path, option)
    if inspect.isclass(target):
        if built_ins.is_rule(target, base):
            return [target]
    elif inspect.isfunction(target):
        return _call(target, path, option)
    raise exception.ConfigurationError(
        option, path, f'Class {path} could not be found: Not a class of the '
        f'correct type; it must derive from {base.__module__}.'
        f'{base.__qualname__}, have a public name, or be a function that '
        'returns such classes')


def _built_in(path, prefix, package, built_in, option):
    """Built-in classes for a path of Nova's, or None: import it instead."""
    modules, all_name, package_option = package
    rest = path.removeprefix(prefix)
    if rest == all_name:
        return list(built_in.by_name.values())
    module, _dot, name = rest.rpartition('.')
    if name in modules.get(module, ()):
        if name in built_in.by_name:
            return [built_in.by_name[name]]
        raise exception.ConfigurationError(
            option or package_option, path,
            f'{name} is not available in this release; available are '
            f'{", ".join(sorted(built_in.by_name))}')
    if prefix.startswith('nova_sched.'):
        return None         # a module that Nova does not have
    # The name of the class says more about what was meant than the path.
    right = {all_name: prefix + all_name} | {
        known: f'{prefix}{where}.{known}' for where, names in modules.items()
        for known in names if known in built_in.by_name}
    near = nearest.nearest(name, right) or all_name
    raise exception.ConfigurationError(
        option or package_option, path,
        f'no such class; did you mean {right[near]}?')


def _import(path, option):
    module_name, _dot, name = path.rpartition('.')
    if not module_name:
        raise exception.ConfigurationError(
            option, path, 'is no dotted path; write module.Class')
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        hint = f'there is no module {exc.name}; check the spelling and that '
        raise exception.ConfigurationError(
            option, path, hint + "it is installed for this service's Python"
        ) from exc
    except Exception as exc:
        # Another author's module may fail in any way; the operator needs to
        # know which option brought it in.
        raise exception.ConfigurationError(
            option, path, f'importing {module_name} failed: {exc!r}') from exc
    if not hasattr(module, name):
        public = [n for n, member in vars(module).items()
                  if inspect.isclass(member) or inspect.isfunction(member)]
        near = nearest.nearest(name, public)
        raise exception.ConfigurationError(
            option, path, f'{module_name} has no {name}' + (
                f'; did you mean {module_name}.{near}?' if near else ''))
    return getattr(module, name)


def _call(function, path, option):
    try:
        classes = function()
    except Exception as exc:
        # As above: whatever it raises, it is this option's fault.
        raise exception.ConfigurationError(
            option, path, f'calling it failed: {exc!r}') from exc
    if not isinstance(classes, collections.abc.Iterable):
        raise exception.ConfigurationError(
            option, path, f'returns {classes!r} instead of a list of classes')
    return list(classes)
