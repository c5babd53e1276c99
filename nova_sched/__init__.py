"""The OpenStack Compute scheduler as a service of its own.

What stands here must come before any other import of the package.
"""

import sys


def _without_eventlet(execute, module):
    """Load a module that imports eventlet wherever it is installed.

    That takes a quarter of a second; nothing here runs on it.
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
    """Load oslo.service, which by default has services that need eventlet.

    Importing oslo.messaging makes it choose.  A process that has chosen
    already keeps its choice.
    """
    execute(module)
    from oslo_service import backend
    backend.register_backend_default_hook(
        lambda: backend.BackendType.THREADING)


class _Finder:
    """Finds some modules as the others do, to be loaded in another way.

    When they are imported, as a command may need none of them.
    """

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
