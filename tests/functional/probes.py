"""Health checks of deployers for a process called nova-scheduler.

They follow the templates of kolla-ansible, openstack-helm and nova-operator
of 2026.
"""

import contextlib
import pathlib
import re

import oslo_messaging as messaging
import psutil

from nova_sched import context
from tests.builders import messages
from tests.functional import processes

NAME = 'nova-scheduler'


def named():
    """Yield the processes with the name in their command lines."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if NAME in ' '.join(process.cmdline()):
                yield process


def ports():
    """The ports that processes of the name are connected to."""
    found = set()
    for process in named():
        with contextlib.suppress(psutil.Error):
            found |= {link.raddr.port for link
                      in process.net_connections('tcp')
                      if link.status == psutil.CONN_ESTABLISHED}
    return found


def running(pids):
    """The processes among these that ``pgrep -r DRST nova-scheduler`` finds.

    pgrep matches the process's name, of which it sees 15 characters.
    """
    states = {psutil.STATUS_DISK_SLEEP, psutil.STATUS_RUNNING,
              psutil.STATUS_SLEEPING, psutil.STATUS_STOPPED}
    found = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            name = pathlib.Path(f'/proc/{pid}/comm').read_text()
            if re.search(NAME, name) and (
                    psutil.Process(pid).status() in states):
                found.add(pid)
    return found


def is_alive(stage, host, seconds=processes.PATIENCE):
    """Whether the daemon of a host answers a ping within a time."""
    client = messages.raw_client(
        stage.transport(), exchange=stage.conf.control_exchange,
        server=host, namespace='baseapi', version='1.1')
    try:
        client.prepare(timeout=seconds).call(context.RequestContext(), 'ping',
                                       arg=None)
    except messaging.MessagingTimeout:
        return False
    return True


@contextlib.contextmanager
def doors(stage):
    """Doors to the broker and the database, for one daemon."""
    with (processes.door_to(stage.transport_url) as broker,
          processes.door_to(stage.database_url) as database):
        yield {'broker': broker, 'database': database}
