"""As ``nova.db``: what ``nova.db.api`` has."""

from nova_sched.compat.nova.db.api import *  # noqa: F403 - as in Nova
from nova_sched.compat.nova.db.api import __getattr__  # noqa: F401
