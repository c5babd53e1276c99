"""Calls of a running service."""

import contextlib
import functools
import threading
from unittest import mock

from nova_sched import context
from nova_sched import service
from nova_sched.scheduler import rpcapi
from tests.builders import requests
from tests.builders.waiting import until as wait_for  # noqa: F401


def select(conf, **request):
    """Call over the transport; return the picked hosts.

    request: as of requests.a_request.
    """
    answer = rpcapi.SchedulerAPI(conf).select_destinations(
        context.RequestContext(), requests.a_request(**request),
        [requests.INSTANCE_UUID], return_objects=True)
    return [chosen[0].service_host for chosen in answer]


class Loop:
    """Replaces service.LoopingCall: its rounds are calls of ``round``.

    options: of its start.
    """

    stopped = False

    def __init__(self, work, *args):
        self.round = functools.partial(work, *args)

    def start(self, **options):
        self.options = options

    def stop(self):
        self.stopped = True


def periodic_work(monkeypatch):
    """The Loops that services create from now on: a list."""
    made = []

    def looping_call(*args):
        made.append(Loop(*args))
        return made[-1]
    monkeypatch.setattr(service, 'LoopingCall', looping_call)
    return made


@contextlib.contextmanager
def no_thread():
    """Make each start of a thread fail in a block."""
    with mock.patch.object(threading.Thread, 'start', side_effect=RuntimeError(
            "can't start new thread")):
        yield
