"""The OpenStack Compute scheduler as a service of its own.

What stands here must come before any other import of the package.
"""

import warnings

from oslo_service import backend

# Importing oslo.messaging makes oslo.service choose between its two kinds of
# services, and its default is the one that needs eventlet. A process that
# has chosen already keeps its choice.
backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)

# futurist imports eventlet wherever it is installed, which warns on stderr;
# nothing here runs on it.
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
