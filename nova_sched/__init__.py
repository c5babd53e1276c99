"""The OpenStack Compute scheduler as a service of its own.

What stands here must come before any other import of the package.
"""

import sys

from oslo_service import backend

# Importing oslo.messaging makes oslo.service choose between its two kinds of
# services, and its default is the one that needs eventlet. A process that
# has chosen already keeps its choice.
backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)

# oslo.messaging, and futurist for it, import eventlet wherever it is
# installed, which takes a quarter of a second; nothing here runs on it.
if 'eventlet' not in sys.modules:
    sys.modules['eventlet'] = None
    try:
        import oslo_messaging  # noqa: F401
    finally:
        del sys.modules['eventlet']
