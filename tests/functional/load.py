"""A steady load of calls, with the outcome of each."""

import dataclasses
import threading
import time
import uuid

import oslo_messaging as messaging

from nova_sched import exception
from tests.builders import requests


@dataclasses.dataclass(frozen=True)
class Call:
    """One call for one instance; began, ended: time.monotonic().

    caller: number.  host: of the instance, or None.  error: None, or the
    name of the exception's class.
    """

    caller: int
    instance: str
    began: float
    ended: float
    host: str | None
    error: str | None

    @property
    def took(self):
        """Seconds."""
        return self.ended - self.began


class Load:
    """Callers that each send call after call during a block.

    clients: a stage.Caller for each.  pause: seconds between two calls.
    """

    def __init__(self, clients, pause=0.0):
        self._over, self._pause, self._calls = threading.Event(), pause, []
        self._threads = [
            threading.Thread(target=self._ask, args=(number, client))
            for number, client in enumerate(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def calls(self):
        """The calls so far, in the order of their ends: list."""
        return list(self._calls)

    def since(self, began):
        """The calls that began after a time: list."""
        return [call for call in self.calls if call.began > began]

    def all_answered(self, began, times=1):
        """Whether each caller has received ``times`` hosts since a time."""
        callers = [call.caller for call in self.since(began) if call.host]
        return all(callers.count(number) >= times
                   for number in range(len(self._threads)))

    def _ask(self, number, client):
        while not self._over.wait(self._pause):
            instance, began = str(uuid.uuid4()), time.monotonic()
            host = error = None
            try:
                [[selected, *_]] = client.place(requests.a_request(
                    instance_uuid=instance))
                host = selected.service_host
            except messaging.RemoteError as exc:
                error = exc.exc_type
            except (exception.NovaSchedException,
                    messaging.MessagingException) as exc:
                error = type(exc).__name__
            self._calls.append(Call(
                number, instance, began, time.monotonic(), host, error))
