"""Nova's module names, for plug-ins that were written against Nova.

A filter of Nova's time begins with ``from nova.scheduler import filters``.
Where Nova is not installed, these names lead to the modules here; where it
is, they are Nova's, and a plug-in that wants ours imports ours.
"""

import importlib
import importlib.util
import sys
import types

#: Nova's module -> the one here.
MODULES = {
    'nova.filters': 'nova_sched.filters',
    'nova.weights': 'nova_sched.weights',
    'nova.scheduler.filters': 'nova_sched.scheduler.filters',
    'nova.scheduler.weights': 'nova_sched.scheduler.weights',
}
_PACKAGES = ('nova', 'nova.scheduler')


def provide():
    """Make the names importable, unless Nova itself is.

    Calling it again changes nothing.
    """
    if 'nova' in sys.modules or importlib.util.find_spec('nova'):
        return
    for name in _PACKAGES:
        package = types.ModuleType(name, __doc__)
        package.__path__ = []
        _add(name, package)
    for name, ours in MODULES.items():
        _add(name, importlib.import_module(ours))


def _add(name, module):
    sys.modules[name] = module
    parent, _, child = name.rpartition('.')
    if parent:
        setattr(sys.modules[parent], child, module)
