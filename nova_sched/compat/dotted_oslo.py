"""``oslo.config`` and the like, as libraries were named before Liberty.

``from oslo.config import cfg`` and ``from oslo import messaging`` lead to
``oslo_config`` and ``oslo_messaging``, unless a package ``oslo`` is installed.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

#: Libraries by the name after the dot.
LIBRARIES = ('concurrency', 'config', 'db', 'i18n', 'messaging',
             'serialization', 'utils')


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports ``oslo_config`` and the like by their dotted names."""

    def find_spec(self, name, path=None, target=None):
        if name == 'oslo':
            is_installed = any(
                finder.find_spec(name, None) is not None
                for finder in sys.meta_path if finder is not self)
            return None if is_installed else (
                importlib.machinery.ModuleSpec(name, self, is_package=True))
        top, _, rest = name.partition('.')
        if top != 'oslo' or rest.partition('.')[0] not in LIBRARIES:
            return None
        if getattr(sys.modules.get(top), '__loader__', None) is not self:
            return None
        now = f'oslo_{rest}'
        if importlib.util.find_spec(now) is None:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
        return importlib.machinery.ModuleSpec(name, self, origin=now)

    def exec_module(self, module):
        now = module.__spec__.origin
        if now is not None:
            sys.modules[module.__name__] = importlib.import_module(now)


def provide():
    """Make the names importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First, or the path finder would load the libraries' files again.
        sys.meta_path.insert(0, _Finder())
