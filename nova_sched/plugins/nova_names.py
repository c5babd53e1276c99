"""Nova's module names, for plug-ins that were written against Nova.

A filter of Nova's time begins with ``from nova.scheduler import filters``.
Where Nova is not installed, its names lead to the modules here. Where it is,
whole or broken, they are Nova's and all of them stay so: two halves do not
make one, and a plug-in that wants ours imports ours.

The names are looked up when they are imported (``_Finder``): those of
``MODULES``, and what is below a package among them. There is nothing else.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading

from nova_sched.plugins import dotted_oslo
from nova_sched.plugins.nova import conf as nova_conf

#: Nova's module -> the one here, or the library's that it became.  The
#: modules in a package come with it, under the names that they have here.
MODULES = {
    'nova.availability_zones': 'nova_sched.plugins.nova.availability_zones',
    'nova.compute.power_state': 'nova_sched.plugins.nova.power_state',
    'nova.compute.task_states': 'nova_sched.plugins.nova.task_states',
    'nova.compute.vm_states': 'nova_sched.plugins.nova.vm_states',
    'nova.conf': 'nova_sched.plugins.nova.conf',
    'nova.context': 'nova_sched.context',
    'nova.db': 'nova_sched.plugins.nova.db',
    'nova.exception': 'nova_sched.plugins.nova.exception',
    'nova.filters': 'nova_sched.filters',
    'nova.i18n': 'nova_sched.plugins.nova.i18n',
    'nova.objects': 'nova_sched.objects',
    # Nova's copies of what became oslo's libraries; gone since Liberty.
    'nova.openstack.common.excutils': 'oslo_utils.excutils',
    'nova.openstack.common.gettextutils': 'nova_sched.plugins.nova.i18n',
    'nova.openstack.common.importutils': 'oslo_utils.importutils',
    'nova.openstack.common.jsonutils': 'oslo_serialization.jsonutils',
    'nova.openstack.common.lockutils': 'oslo_concurrency.lockutils',
    'nova.openstack.common.log': 'oslo_log.log',
    'nova.openstack.common.processutils': 'oslo_concurrency.processutils',
    'nova.openstack.common.strutils': 'oslo_utils.strutils',
    'nova.openstack.common.timeutils': 'oslo_utils.timeutils',
    'nova.openstack.common.units': 'oslo_utils.units',
    'nova.openstack.common.uuidutils': 'oslo_utils.uuidutils',
    'nova.rpc': 'nova_sched.plugins.nova.rpc',
    'nova.scheduler.client': 'nova_sched.plugins.nova.client',
    'nova.scheduler.driver': 'nova_sched.plugins.nova.driver',
    'nova.scheduler.filter_scheduler':
        'nova_sched.plugins.nova.filter_scheduler',
    'nova.scheduler.filters': 'nova_sched.scheduler.filters',
    'nova.scheduler.host_manager': 'nova_sched.plugins.nova.host_manager',
    'nova.scheduler.scheduler_options':
        'nova_sched.plugins.nova.scheduler_options',
    'nova.scheduler.utils': 'nova_sched.plugins.nova.scheduler_utils',
    'nova.scheduler.weights': 'nova_sched.scheduler.weights',
    'nova.servicegroup': 'nova_sched.plugins.nova.servicegroup',
    'nova.utils': 'nova_sched.plugins.nova.utils',
    'nova.weights': 'nova_sched.weights',
}
_PACKAGES = ('nova', 'nova.compute', 'nova.openstack',
             'nova.openstack.common', 'nova.scheduler')

_lock = threading.Lock()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes Nova's names out of the modules here."""

    def find_spec(self, name, path=None, target=None):
        if name == 'nova':
            if self._is_installed():
                return None
        elif not (name.startswith('nova.') and self._is_ours()):
            return None
        ours = _ours(name)
        if ours is None and name not in _PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(
            name, self, origin=ours, is_package=ours is None)

    def _is_installed(self):
        """Whether anything else offers a package of that name."""
        return any(finder.find_spec('nova', None) is not None
                   for finder in sys.meta_path if finder is not self)

    def _is_ours(self):
        """Whether the package that was imported comes from here."""
        spec = getattr(sys.modules.get('nova'), '__spec__', None)
        return spec is not None and spec.loader is self

    def exec_module(self, module):
        ours = module.__spec__.origin
        if ours is not None:
            # The import goes on with what it finds under the name then.
            sys.modules[module.__name__] = importlib.import_module(ours)


def _ours(name):
    """The module here that a name of Nova's leads to; None for none.

    Raises ModuleNotFoundError for what a package here does not have.
    """
    if name in MODULES:
        return MODULES[name]
    package, _, module = name.rpartition('.')
    if package not in MODULES:
        return None
    ours = f'{MODULES[package]}.{module}'
    if importlib.util.find_spec(ours) is None:
        # Others would look for files of that name in the package here.
        raise ModuleNotFoundError(f'No module named {name!r}', name=name)
    return ours


def provide(conf):
    """Make the names importable, and Nova's global configuration one with
    the files that ``conf`` was read from.
    """
    with _lock:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            # In front, because some parents are packages with files, which
            # must not be imported a second time under Nova's names.
            sys.meta_path.insert(0, _Finder())
        dotted_oslo.provide()
        nova_conf.follow(conf)
