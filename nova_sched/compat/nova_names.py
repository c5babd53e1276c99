"""Nova's module names, for plug-ins that were written against Nova.

A filter of Nova's time begins with ``from nova.scheduler import filters``.
Where Nova is not installed, its names lead to the modules here. Where it is,
whole or broken, they are Nova's and all of them stay so: two halves do not
make one; a plug-in may import nova_sched's names instead.

A directory ``nova`` on the Python path without ``scheduler/manager.py`` or
``scheduler/host_manager.py`` is no Nova, but plug-ins that are named as if
they were in its tree: a part beside ours. All such directories are searched
for names that are not offered here. An ``__init__.py`` runs where the whole
package is the part's, as in ``nova/myproject``, and not where the package is
ours.

``_Finder`` looks up names when they are imported: first the names of
``nova_names.toml`` and the modules of packages among them, then the parts.
"""

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
import threading
import types

from nova_sched import toml_files
from nova_sched.compat import dotted_oslo
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.compat.nova import i18n

_TABLE = toml_files.read('nova_names.toml', __package__)
#: Nova's module -> module here, or of the library that replaced it.
MODULES, RENAMED = _TABLE['modules'], _TABLE['renamed']
_NAMES_OF_OURS = {ours: name for name, ours in reversed(MODULES.items())}
_PACKAGES = ('nova', 'nova.api', 'nova.api.openstack', 'nova.openstack',
             'nova.openstack.common', 'nova.scheduler', 'nova.volume')

#: Modules of ``nova/scheduler`` in all releases of Nova.
_NOVA_S_OWN = ('manager', 'host_manager')

#: Error text for the import of a name that is not offered.
NOT_OFFERED = ('is not offered by nova_sched where Nova is not installed; '
               'doc/source/plugins.rst says which names are')

_CANNOT_IMPORT = re.compile(r"cannot import name '(\w+)' from ")

_lock = threading.Lock()


class NotOffered(ModuleNotFoundError):
    """A module of Nova's that neither this service nor a part has.

    It has no ``name``: with one, ``from nova.scheduler import x`` would report
    a missing attribute at an unknown location.
    """

    def __init__(self, name):
        super().__init__(f'No module named {name!r}: it {NOT_OFFERED}')


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports Nova's names from the modules here and from the parts."""

    def find_spec(self, name, path=None, target=None):
        if name == 'nova':
            parts = self.parts()
            return None if any(map(_is_nova, parts)) else self._package(
                name, parts)
        package, _, module = name.rpartition('.')
        if package in _NAMES_OF_OURS:
            return self._from_package(name, path, f'{_NAMES_OF_OURS[package]}'
                                                  f'.{module}')
        if package not in (*MODULES, *_PACKAGES) or not self.is_ours():
            return None
        ours = _ours(name)
        if ours is not None:
            return importlib.machinery.ModuleSpec(name, self, origin=ours)
        if name in _PACKAGES:
            return self._package(name, _beside(name))
        found = importlib.machinery.PathFinder.find_spec(
            name, _beside(package))
        if found is None:
            # Others would look for files of that name in the package here.
            raise NotOffered(name)
        return found

    def _from_package(self, name, path, nova_name):
        """Return a module that a package of ours has by Nova's name alone.

        ``from nova.scheduler.filters import mine`` imports it by the name of
        the package here; the module is that of Nova's name.
        """
        find = importlib.machinery.PathFinder.find_spec
        if self.is_ours() and not find(name, path) and (
                nova_name in MODULES or nova_name in RENAMED or find(
                    nova_name, _beside(nova_name.rpartition('.')[0]))):
            return importlib.machinery.ModuleSpec(name, self, origin=nova_name)
        return None

    def _package(self, name, directories):
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = directories
        return spec

    def parts(self):
        """Return the directories ``nova`` of other finders and sys.path: list.
        """
        path_finder = importlib.machinery.PathFinder
        specs = [finder.find_spec('nova', None) for finder in sys.meta_path
                 if finder not in (self, path_finder)]
        specs += [path_finder.find_spec('nova', [entry])
                  for entry in sys.path]
        return list(dict.fromkeys(
            directory for spec in specs if spec is not None
            for directory in spec.submodule_search_locations or ()))

    def is_ours(self):
        """Return whether the package that was imported comes from here."""
        spec = getattr(sys.modules.get('nova'), '__spec__', None)
        return spec is not None and spec.loader is self

    def exec_module(self, module):
        if module.__name__ == 'nova':
            # As Nova's start scripts did until Grizzly.
            vars(builtins).setdefault('_', i18n._)
        ours = module.__spec__.origin
        if ours is not None:
            # The import continues with this entry of sys.modules.
            sys.modules[module.__name__] = importlib.import_module(ours)


def _ours(name):
    """Return the module here that a name of Nova's leads to; None for none."""
    ours = MODULES.get(name) or RENAMED.get(name)
    if ours is not None:
        return ours
    package, _, module = name.rpartition('.')
    if package not in MODULES:
        return None
    ours = importlib.import_module(MODULES[package])
    name = f'{ours.__name__}.{module}'
    return name if importlib.machinery.PathFinder.find_spec(
        name, getattr(ours, '__path__', ())) else None


def _is_nova(directory):
    """Return whether a directory named nova holds a scheduler of its own."""
    scheduler = [os.path.join(directory, 'scheduler')]
    return any(importlib.machinery.PathFinder.find_spec(name, scheduler)
               for name in _NOVA_S_OWN)


def _beside(package):
    """Return the directories of a package's modules in the parts: list.
    """
    return [os.path.join(part, *package.split('.')[1:])
            for part in sys.modules['nova'].__path__]


def hint(error):
    """Return an addition to the text of an import error, often ''.

    It contains the missing name of Nova's.
    """
    if isinstance(error, ImportError):
        found = _CANNOT_IMPORT.match(str(error))
        module, lacks = sys.modules.get(error.name), found and found[1]
    elif isinstance(error, AttributeError):
        module, lacks = error.obj, error.name
    else:
        return ''
    if lacks and isinstance(module, types.ModuleType) and any(
            isinstance(finder, _Finder) and finder.is_ours()
            for finder in sys.meta_path):
        name = _nova_name(module.__name__)
        return name and f'; {name}.{lacks} {NOT_OFFERED}'
    return ''


def explain(error):
    """Add the hint to the text of an error that a plug-in raises."""
    text = hint(error)
    if text and not str(error).endswith(text):
        error.args = (f'{error}{text}',)
        if isinstance(error, ImportError):
            error.msg = error.args[0]


def _nova_name(name):
    """Return Nova's name of a module here, or of one in a package; '' for
    none.

    Modules of libraries keep their names.
    """
    if not name.startswith('nova_sched.'):
        return ''
    package, parts = name, []
    while package and package not in _NAMES_OF_OURS:
        package, _, part = package.rpartition('.')
        parts.insert(0, part)
    return '.'.join([_NAMES_OF_OURS[package], *parts]) if package else ''


def provide(conf):
    """Make the names importable, and fill Nova's global configuration.

    conf: ConfigOpts; its files are read into ``nova.conf.CONF``.
    """
    with _lock:
        finder = next((finder for finder in sys.meta_path
                       if isinstance(finder, _Finder)), None)
        if finder is None:
            # In front, because some parents are packages with files, which
            # must not be imported a second time under Nova's names.
            sys.meta_path.insert(0, _Finder())
        elif finder.is_ours():
            sys.modules['nova'].__path__ = finder.parts()
        for place, source in _TABLE['classes'].items():
            module, _, name = place.rpartition('.')
            setattr(importlib.import_module(module), name,
                    getattr(importlib.import_module(source), name))
        dotted_oslo.provide()
        nova_conf.follow(conf)
