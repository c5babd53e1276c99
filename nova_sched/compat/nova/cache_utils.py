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
    _refuse_shared()
    return CacheClient(expiration_time)


def get_memcached_client(expiration_time=0):
    """Return None, as without [cache] enabled.  Raises RuntimeError with it.
    """
    _refuse_shared()


def _refuse_shared():
    if CONF.cache.enabled:
        raise RuntimeError(
            '[cache] enabled = true: a cache that is shared by oslo.cache is '
            'not offered by nova_sched where Nova is not installed; set it to '
            'false for one in each process')


class CacheClient:
    """Values by key; safe for threads."""

    def __init__(self, expiration_time=0, now=time.monotonic):
        self._limit, self._now = expiration_time, now
        self._kept, self._lock = {}, threading.Lock()

    def get(self, key):
        """Return a value, or None without a recent one."""
        with self._lock:
            return self._get(key)

    def get_multi(self, keys):
        """Return the values of keys, None for a missing one: list."""
        with self._lock:
            return [self._get(key) for key in keys]

    def get_or_create(self, key, creator):
        """Return a value; without one ``creator()``, which is kept."""
        found = self.get(key)
        if found is None:
            found = creator()
            self.set(key, found)
        return found

    def set(self, key, value):
        """Keep a value, in place of another one.  Returns True."""
        with self._lock:
            self._set(key, value)
        return True

    def add(self, key, value):
        """Keep a value if the key has none; return whether it is kept."""
        with self._lock:
            is_new = self._get(key) is None
            if is_new:
                self._set(key, value)
        return is_new

    def delete(self, key):
        """Delete a value, if there is one."""
        self.delete_multi([key])

    def delete_multi(self, keys):
        """Delete values."""
        with self._lock:
            for key in keys:
                self._kept.pop(key, None)

    def _get(self, key):
        kept_at, value = self._kept.get(key, (self._now(), None))
        if self._limit and self._now() - kept_at >= self._limit:
            return None
        return value

    def _set(self, key, value):
        now = self._now()
        if self._limit:
            for old in [old for old, (kept_at, _) in self._kept.items()
                        if now - kept_at >= self._limit]:
                del self._kept[old]
        self._kept[key] = now, value
