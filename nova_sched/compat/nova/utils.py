"""As ``nova.utils``: functions that plug-ins use."""

from concurrent import futures
import contextlib
import contextvars
import functools
import inspect
import tempfile
import threading

from oslo_concurrency import lockutils
from oslo_concurrency import processutils
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Runs a command: (output, errors) as texts; ProcessExecutionError.
execute = processutils.execute
#: Decorator: one thread, or with ``external=True`` one process, at a time.
synchronized = lockutils.synchronized_with_prefix('nova-')
#: A context with the path of a temporary directory.
tempdir = tempfile.TemporaryDirectory

_NOTHING = object()


def expects_func_args(*args):
    """Return a decorator of decorators for functions with these arguments.

    The decorator raises TypeError for a function without them.
    """
    def checked(decorator):
        @functools.wraps(decorator)
        def decorated(function):
            found = inspect.signature(inspect.unwrap(function)).parameters
            takes_all = any(
                parameter.kind in (parameter.VAR_POSITIONAL,
                                   parameter.VAR_KEYWORD)
                for parameter in found.values())
            if not takes_all and not set(args) <= found.keys():
                raise TypeError(
                    f'{function.__qualname__} takes ({", ".join(found)}), '
                    f'and must take {", ".join(args)}')
            return decorator(function)
        return decorated
    return checked


def is_none_string(val):
    """Return whether a value is the text ``none``, in any case."""
    return isinstance(val, str) and val.lower() == 'none'


def metadata_to_dict(metadata, include_deleted=False):
    """Return rows with key, value and deleted, as a dict."""
    return {row['key']: row['value'] for row in metadata
            if include_deleted or not row.get('deleted')}


def instance_meta(instance):
    """Return an instance's metadata, a dict or rows, as a dict.
    """
    return _as_dict(instance.get('metadata'))


def instance_sys_meta(instance):
    """Return an instance's system metadata as a dict; {} without any."""
    return _as_dict(instance.get('system_metadata'))


def _as_dict(metadata):
    return (metadata if isinstance(metadata, dict)
            else metadata_to_dict(metadata or ()))


@contextlib.contextmanager
def temporary_mutation(obj, **kwargs):
    """Set attributes of an object, or items of a dict: a context."""
    is_dict = hasattr(obj, '__setitem__')
    get = obj.get if is_dict else functools.partial(getattr, obj)
    put = obj.__setitem__ if is_dict else functools.partial(setattr, obj)
    drop = obj.pop if is_dict else functools.partial(delattr, obj)
    before = {name: get(name, _NOTHING) for name in kwargs}
    try:
        for name, value in kwargs.items():
            put(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is _NOTHING:
                drop(name)
            else:
                put(name, value)


def spawn(func, *args, **kwargs):
    """Call a function in a native thread; its result has ``wait()``."""
    run, result = contextvars.copy_context().run, futures.Future()
    result.wait = result.result

    def call():
        try:
            result.set_result(run(func, *args, **kwargs))
        except Exception as error:
            LOG.exception('A function that a plug-in has spawned failed')
            result.set_exception(error)
        except BaseException:
            # It ends its thread only.
            result.set_result(None)
            raise
    threading.Thread(target=call, daemon=True,
                     name=f'spawned {func!r:.60}').start()
    return result


def spawn_n(func, *args, **kwargs):
    """Call a function in a native thread; its result is ignored."""
    spawn(func, *args, **kwargs)
