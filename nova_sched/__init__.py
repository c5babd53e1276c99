"""The OpenStack Compute scheduler as a service of its own.

The import hook keeps oslo.messaging, futurist and oslo.service from importing
eventlet, which they do wherever it is installed.  It must be in place before
any other import, and acts when these libraries are imported: a command may
need none of them.
"""

import sys


def _without_eventlet(execute, module):
    """Execute a module while eventlet cannot be imported.

    Importing eventlet takes a quarter of a second; nothing here uses it.
    """
    if 'eventlet' in sys.modules:
        execute(module)
        return
    sys.modules['eventlet'] = None
    try:
        execute(module)
    finally:
        del sys.modules['eventlet']


def _with_threads(execute, module):
    """Execute oslo.service, and select its backend of threads.

    Its default is eventlet, and importing oslo.messaging selects the backend.
    A backend that the process has selected before stays.
    """
    execute(module)
    from oslo_service import backend
    backend.register_backend_default_hook(
        lambda: backend.BackendType.THREADING)


class _Finder:
    """A finder that replaces how some modules are executed."""

    LOADERS = {'oslo_messaging': _without_eventlet,
               'futurist': _without_eventlet, 'oslo_service': _with_threads}

    def find_spec(self, name, path=None, target=None):
        """Return the spec of one of these modules; None of any other."""
        load = self.LOADERS.get(name)
        if load is None:
            return None
        specs = (finder.find_spec(name, path, target)
                 for finder in sys.meta_path
                 if type(finder).__module__ != __name__)
        spec = next(filter(None, specs), None)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: load(execute, module)
        return spec


sys.meta_path.insert(0, _Finder())
