"""Nova's module names, for plug-ins that were written against Nova.

A filter of Nova's time begins with ``from nova.scheduler import filters``.
Where Nova is not installed, its names lead to the modules here. Where it is,
whole or broken, they are Nova's and all of them stay so: two halves do not
make one, and a plug-in that wants ours imports ours.

The names are looked up when they are imported (``_Finder``); what is not in
the table cannot be.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import threading

from nova_sched.conf import nova_classes
from nova_sched.nova import conf as nova_conf

#: Nova's module -> the one here, or the library's that it became.
MODULES = {
    'nova.conf': 'nova_sched.nova.conf',
    'nova.context': 'nova_sched.context',
    'nova.exception': 'nova_sched.nova.exception',
    'nova.filters': 'nova_sched.filters',
    'nova.i18n': 'nova_sched.nova.i18n',
    'nova.objects': 'nova_sched.objects',
    # Nova's copy of what became oslo.log; gone since Liberty.
    'nova.openstack.common.log': 'oslo_log.log',
    'nova.scheduler.filters': 'nova_sched.scheduler.filters',
    'nova.scheduler.filters.extra_specs_ops':
        'nova_sched.scheduler.filters.extra_specs_ops',
    'nova.scheduler.filters.utils': 'nova_sched.scheduler.filters.utils',
    'nova.scheduler.weights': 'nova_sched.scheduler.weights',
    'nova.weights': 'nova_sched.weights',
} | {
    f'nova.objects.{name}': f'nova_sched.objects.{name}' for name in (
        'aggregate', 'flavor', 'image_meta', 'instance', 'instance_group',
        'request_spec', 'selection')
} | {
    f'nova.scheduler.{kind}.{name}': f'nova_sched.scheduler.{kind}.{name}'
    for kind, names in (('filters', nova_classes.FILTER_MODULES),
                        ('weights', nova_classes.WEIGHER_MODULES))
    for name in names
}
_PACKAGES = ('nova', 'nova.openstack', 'nova.openstack.common',
             'nova.scheduler')

_lock = threading.Lock()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes Nova's names out of the modules here."""

    def find_spec(self, name, path=None, target=None):
        if name not in MODULES and name not in _PACKAGES:
            return None
        if name == 'nova':
            if self._is_installed():
                return None
        elif not self._is_ours():
            return None
        return importlib.machinery.ModuleSpec(
            name, self, origin=MODULES.get(name),
            is_package=name in _PACKAGES)

    def _is_installed(self):
        """Whether anything else offers a package of that name."""
        return any(finder.find_spec('nova', None) is not None
                   for finder in sys.meta_path if finder is not self)

    def _is_ours(self):
        """Whether the package that was imported comes from here."""
        spec = getattr(sys.modules.get('nova'), '__spec__', None)
        return spec is not None and spec.loader is self

    def exec_module(self, module):
        ours = MODULES.get(module.__name__)
        if ours is not None:
            # The import goes on with what it finds under the name then.
            sys.modules[module.__name__] = importlib.import_module(ours)


def provide(conf):
    """Make the names importable, and Nova's global configuration one with
    the files that ``conf`` was read from.
    """
    with _lock:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            # In front, because some parents are packages with files of the
            # same names, which must not be imported twice.
            sys.meta_path.insert(0, _Finder())
        nova_conf.follow(conf)
