"""Loading the classes that options name.

A driver or host manager is named by an entry point or by the dotted path of
its class: ``Kind``.  Filters and weighers are named by paths only:
``load_classes``, by Nova's rules from Kilo on:

1. A path is a module and, after its last dot, an attribute.  A public class
   derived from the base class is taken; a plain function is called without
   arguments and the classes it returns are taken unchecked.
2. ``nova.scheduler.filters.all_filters`` and
   ``nova.scheduler.weights.all_weighers`` stand for all built-in classes,
   and Nova's class paths for the built-in classes of the same names.
3. Classes are known by their bare names. The later of two classes with one
   name counts (``by_name``), so that a plug-in can replace a built-in.

All other values, and exceptions of a plug-in's code, are ConfigurationErrors
with the option, the value, and the nearest right value.
"""

import collections.abc
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys

from stevedore import driver

from nova_sched import exception
from nova_sched import nova_compat
from nova_sched.options import entry_points
from nova_sched.options import nearest
from nova_sched.rules import loadables
from nova_sched.rules import nova_classes

#: Package below ``nova.scheduler`` -> modules of Nova's, the name for all.
_PACKAGES = {
    'filters': (nova_classes.FILTER_MODULES, 'all_filters'),
    'weights': (nova_classes.WEIGHER_MODULES, 'all_weighers'),
}

#: Where Nova has drivers and host managers.
_OF_NOVA = frozenset(f'nova.scheduler.{module}' for module in (
    'caching_scheduler', 'chance', 'driver', 'filter_scheduler',
    'host_manager', 'ironic_host_manager'))


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of class that an option names.

    option: ``[group] name``.  namespace: of the entry points.
    noun: the kind, for messages.  base: the class to derive from.
    must_have: a further requirement, as text that follows ``base``.
    novas: Nova's namespace, with lower precedence; its entry points of Nova's
        own modules are ignored.
    """

    option: str
    namespace: str
    noun: str
    base: type
    must_have: str = ''
    novas: str = ''

    def names(self):
        """Return the entry points that are installed, sorted."""
        return sorted(self._namespaces())

    def _namespaces(self):
        """Return the name of each entry point -> its namespace."""
        theirs = entry_points.named(self.novas)
        ours = entry_points.named(self.namespace)
        return {point.name: self.novas for point in theirs
                if not _is_of_nova(point.module)} | dict.fromkeys(
                    ours.names, self.namespace)

    def load(self, name):
        """Return the class of an entry point's name or of a class path.

        Raises ConfigurationError for an unknown name, a class of another kind,
        and a class with a method of Nova's that is never called.
        """
        names = self._namespaces()
        if name not in names and not _may_be_imported(name):
            raise exception.ConfigurationError(
                self.option, name, f'no such {self.noun}; '
                + nearest.did_you_mean(name.rsplit('.', 1)[-1], sorted(names)))
        cls = (self._of_entry_point(names[name], name) if name in names
               else _imported(name, self.option, name))
        if not (isinstance(cls, type) and issubclass(cls, self.base)
                and not inspect.isabstract(cls)):
            raise exception.ConfigurationError(
                self.option, name, f'is no {self.noun}; it must be a class '
                f'derived from {self.base.__module__}.'
                f'{self.base.__qualname__}{self.must_have}')
        nova_compat.loaded().check_methods(cls, self.option)
        return cls

    def make(self, name, conf):
        """Return an object of the class that ``load`` finds, made with
        ``conf``.

        Raises ConfigurationError as ``load`` does, and for a class that
        cannot be set up.
        """
        cls = nova_compat.loaded().constructor(self.load(name))
        return set_up(lambda: self.checked(cls(conf)), self.option, name)

    def checked(self, made):
        """Return an object of such a class after its ``check_set_up``.

        Raises ConfigurationError, and what ``check_set_up`` raises.
        """
        nova_compat.loaded().check_methods(made, self.option)
        made.check_set_up()
        return made

    def _of_entry_point(self, namespace, name):
        with _refusing(self.option, name,
                       f'its entry point in {namespace} cannot be imported'):
            return driver.DriverManager(namespace, name,
                                        invoke_on_load=False).driver


def _is_of_nova(module):
    """Return whether an entry point leads to a module of an installed Nova."""
    return module in _OF_NOVA or module.startswith('nova.tests.')


def _may_be_imported(path):
    """Return whether a path may lead to the class of a plug-in."""
    module = path.rpartition('.')[0]
    if not module.startswith('nova.scheduler.'):
        return module not in ('', 'nova.scheduler')
    # A part of Nova's tree beside ours.
    return module not in _OF_NOVA and is_there(module)


def is_built_in(cls):
    """Return whether a class is one of this service."""
    return cls.__module__.startswith('nova_sched.')


def is_there(name):
    """Return whether a module can be found; imports only its parents."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def provide_names(conf):
    """Make the modules of ``[nova_sched] plugin_path`` and Nova's module names
    importable.
    """
    sys.path += [directory for directory in conf.nova_sched.plugin_path
                 if directory not in sys.path]
    nova_compat.loaded().provide_names(conf)


def _hint(error):
    return nova_compat.loaded().hint(error)


@contextlib.contextmanager
def _refusing(option, value, problem):
    """Raise ConfigurationError in place of any other exception: a context.

    Another author's code may fail in any way; the operator needs to know
    which option brought it in.
    """
    try:
        yield
    except exception.ConfigurationError:
        raise
    except Exception as exc:
        raise exception.ConfigurationError(
            option, value, f'{problem}: {exc!r}{_hint(exc)}') from exc


def set_up(build, option, value):
    """Return what ``build()`` returns.

    Raises ConfigurationError, in place of any other exception of ``build``.
    """
    with _refusing(option, value, 'cannot be set up'):
        return build()


def load_classes(path, base, package_classes, option):
    """Return the classes that a value of an option names: list.

    path: dotted path.  base: what classes must derive from.
    package_classes: function that returns the built-in classes, for Nova's
        paths.
    option: ``[group] name`` for messages.
    Raises ConfigurationError when the path leads to no such class.
    """
    path = path.strip()
    found = _built_in(
        path, functools.cache(lambda: by_name(package_classes())), option)
    if found is not None:
        return found
    target = _imported(path, option, path)
    if inspect.isclass(target):
        if loadables.is_rule(target, base):
            return [target]
    elif inspect.isfunction(target):
        return _called(target, option, path)
    raise exception.ConfigurationError(
        option, path, f'Class {path} could not be found: Not a class of the '
        f'correct type; it must derive from {base.__module__}.'
        f'{base.__qualname__}, have a public name, or be a function that '
        'returns such classes')


def by_name(classes):
    """Return classes by bare name; of two with one name the later: dict."""
    return {cls.__name__: cls for cls in classes}


def _built_in(path, built_in, option):
    """Return built-in classes for a path of Nova's; None to import it."""
    root, _, below = path.partition('.scheduler.')
    package, _, rest = below.partition('.')
    if root not in ('nova', 'nova_sched') or package not in _PACKAGES:
        return None
    modules, all_name = _PACKAGES[package]
    if rest == all_name:
        return list(built_in().values())
    module, _, name = rest.rpartition('.')
    if name in modules.get(module, ()):
        if name in built_in():
            return [built_in()[name]]
        raise exception.ConfigurationError(
            option, path, f'{name} is not available in this release; '
            f'available are {", ".join(sorted(built_in()))}')
    if root == 'nova_sched':
        return None         # a module that Nova does not have
    if module and module not in modules and is_there(
            path.rpartition('.')[0]):
        return None         # it lies in a tree like Nova's
    # The class name is a better key than the path.
    right = {all_name: all_name} | {
        known: f'{where}.{known}' for where, names in modules.items()
        for known in names if known in built_in()}
    # A class of an unknown module is more likely a plug-in.
    near = nearest.nearest(name or rest, right, 0.6 if module in (
        '', *modules) else 0.85)
    raise exception.ConfigurationError(option, path, (
        f'no such class; did you mean nova.scheduler.{package}.{right[near]}?'
        if near else
        f'{nova_compat.loaded().not_offered}, and no such module lies '
        'under [nova_sched] plugin_path or elsewhere on the Python path'))


def _imported(path, option, value):
    """Return the attribute of a dotted path; value: of the option."""
    module_name, _, name = path.rpartition('.')
    if not module_name:
        raise exception.ConfigurationError(
            option, value, 'is no dotted path; write module.Class')
    with _refusing(option, value, f'importing {module_name} failed'):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as exc:
            # Without a name, the error text is complete.
            raise exception.ConfigurationError(
                option, value, f'importing {module_name} failed: {exc}'
                if exc.name is None else
                f'there is no module {exc.name}; check the spelling and that '
                "it is installed for this service's Python"
                + _hint(exc)) from exc
    if not hasattr(module, name):
        public = [n for n, member in vars(module).items()
                  if inspect.isclass(member) or inspect.isfunction(member)]
        near = nearest.nearest(name, public)
        raise exception.ConfigurationError(
            option, value, f'{module_name} has no {name}' + (
                f'; did you mean {module_name}.{near}?' if near else ''))
    return getattr(module, name)


def _called(function, option, path):
    """Return the classes that a function returns."""
    with _refusing(option, path, 'calling it failed'):
        classes = function()
    if not isinstance(classes, collections.abc.Iterable):
        raise exception.ConfigurationError(
            option, path, f'returns {classes!r} instead of a list of classes')
    return list(classes)
