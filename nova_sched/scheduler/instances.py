"""Where instances run, as far as one request asks.

Most requests never ask.  Those with a server group or a same-host hint ask
about a few instances by uuid; some plug-ins look at all instances of a host.
Either is answered by one statement, made when first asked and remembered for
the rest of the request.
"""

import types


class Instances:
    """Locations of instances: the database, plus this request's own picks.

    locate: function of a list of uuids, returns {uuid: host name}.
    on_hosts: function that returns the instances of all hosts as dicts with
        at least uuid and host.
    placed: {uuid: host name} of instances placed lately that the database
        may not show yet.
    """

    def __init__(self, locate, on_hosts, placed=None):
        self._locate, self._on_hosts = locate, on_hosts
        self._placed = dict(placed or {})
        self._located = {}
        self._by_host = None

    def located(self, uuids):
        """{uuid: host name} of those of the instances that are on a host."""
        unknown = [uuid for uuid in uuids if uuid not in self._located]
        if unknown:
            self._located |= dict.fromkeys(unknown) | self._locate(unknown)
        hosts = self._located | self._placed
        return {uuid: hosts[uuid] for uuid in uuids if hosts.get(uuid)}

    def on_host(self, host):
        """{uuid: instance} of the instances on a host, a new dict."""
        if self._by_host is None:
            self._by_host = {}
            for row in self._on_hosts():
                self._by_host.setdefault(row['host'], {})[row['uuid']] = (
                    types.SimpleNamespace(**row))
        placed = {uuid: types.SimpleNamespace(uuid=uuid, host=host)
                  for uuid, name in self._placed.items() if name == host}
        return self._by_host.get(host, {}) | placed

    def place(self, uuid, host):
        """From now on the instance counts as running on the host."""
        self._placed[uuid] = host
