"""As ``nova.cache_utils``: values that plug-ins cache in the process."""

import contextlib
import threading
import time

from oslo_config import cfg

from nova_sched.compat.nova.conf import CONF

# A plug-in may have registered the options of oslo.cache.
with contextlib.suppress(cfg.DuplicateOptError):
    CONF.register_opt(cfg.BoolOpt('enabled', default=False), 'cache')


def get_client(expiration_time=0):
    """Return a CacheClient of this process.

    expiration_time: seconds that a value is kept; 0 for no limit.
    Raises RuntimeError with [cache] enabled.
    """
    if CONF.cache.enabled:
        raise RuntimeError(
            '[cache] enabled = true: a cache that is shared by oslo.cache is '
            'not offered by nova_sched where Nova is not installed; set it to '
            'false for one in each process')
    return CacheClient(expiration_time)


def get_memcached_client(expiration_time=0):
    """Return None, as without [cache] enabled.  Raises RuntimeError with it.
    """
    get_client()


class CacheClient:
    """Values by key; safe for threads."""

    def __init__(self, expiration_time=0, now=time.monotonic):
        self._limit, self._now = expiration_time, now
        self._kept, self._lock = {}, threading.RLock()

    def get(self, key):
        """Return a value, or None without a recent one."""
        with self._lock:
            kept_at, value = self._kept.get(key, (self._now(), None))
            return None if self._is_old(kept_at) else value

    def get_multi(self, keys):
        """Return the values of keys, None for a missing one: list."""
        return [self.get(key) for key in keys]

    def get_or_create(self, key, creator):
        """Return a value; without one ``creator()``, which is kept."""
        value = self.get(key)
        if value is None:
            value = creator()
            self.set(key, value)
        return value

    def set(self, key, value):
        """Keep a value, in place of another one.  Returns True."""
        with self._lock:
            for old in [old for old, (kept_at, _) in self._kept.items()
                        if self._is_old(kept_at)]:
                del self._kept[old]
            self._kept[key] = self._now(), value
        return True

    def add(self, key, value):
        """Keep a value if the key has none; return whether it is kept."""
        with self._lock:
            return self.get(key) is None and self.set(key, value)

    def delete(self, key):
        """Delete a value, if there is one."""
        self.delete_multi([key])

    def delete_multi(self, keys):
        """Delete values."""
        with self._lock:
            for key in keys:
                self._kept.pop(key, None)

    def _is_old(self, kept_at):
        return self._limit and self._now() - kept_at >= self._limit
