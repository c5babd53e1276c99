"""A shadow that is asked by hand, beside a live scheduler that is none.

What the live scheduler does is what Placement and the database say then.
"""

from urllib import parse

from nova_sched.dry_run import decider
from nova_sched.shadow import live_picks
from nova_sched.shadow import report
from nova_sched.shadow import tap
from nova_sched.shadow import watcher
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_uuid

#: Providers of the hosts a, b and c, which weigh less and less.
A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
HOSTS = {'a': A, 'b': B, 'c': C}
TOKEN = 'the-token-of-the-caller'
PATIENCE = 60


class Stage:
    """A shadow that is asked by hand, on a cloud and a Placement.

    held: consumer -> provider -> class -> amount, what Placement says;
    a list of such for one answer after the other.
    """

    def __init__(self, cloud, server, directory, **options):
        self.cloud, self.server, self.held, self.now = cloud, server, {}, 0.0
        self.path = directory / 'shadow.jsonl'
        if server is not None:
            server.on('GET', '/allocations/', self.of_consumer)
            server.on('GET', '/resource_providers/', self.of_provider)
            options = {'nova_sched__candidates': 'list',
                       'placement__auth_type': 'none',
                       'placement__endpoint_override': server.url, **options}
        conf = cloud.conf(**options)
        conf.set_override('rpc_response_timeout', PATIENCE)
        self.decider = decider.Decider(conf, is_shadow=True)
        self.decider.start()
        self._live_picks = live_picks.LivePicks(conf, self.decider)
        self.watcher = watcher.LiveDecisionWatcher(
            conf, self.decider, self._live_picks, report.Report(self.path),
            clock=lambda: self.now)

    def close(self):
        self.decider.stop()
        self._live_picks.close()

    def ask(self, count=1, uuids=None, **request):
        """Have a request decided; the uuids of its instances."""
        uuids = uuids or [a_uuid() for _ in range(count)]
        self.watcher.add(tap.Call('select_destinations', {
            'spec_obj': requests.a_request(
                num_instances=len(uuids), instance_uuid=uuids[0],
                **request).obj_to_primitive(),
            'instance_uuids': uuids, 'return_objects': True,
            'return_alternates': True}, {
                'auth_token': TOKEN, 'request_id': f'req-{uuids[0]}'}))
        return uuids

    def claim(self, uuid, host, vcpus=1):
        """Have the live scheduler put an instance on a host."""
        self.held[uuid] = {HOSTS[host]: {'VCPU': vcpus}}

    def place(self, host, uuid=None):
        """Have a request decided here and there; the uuid of its instance."""
        [uuid] = self.ask(uuids=[uuid or a_uuid()])
        self.claim(uuid, host)
        self.later()
        return uuid

    def boot(self, uuid, host):
        """Have the row of an instance show its host."""
        self.cloud.execute('INSERT INTO instances (uuid, host, deleted) '
                           'VALUES (?, ?, 0)', uuid, host)

    def bury(self, *uuids):
        """Have the live scheduler refuse instances."""
        for uuid in uuids:
            self.cloud.execute(
                'INSERT INTO instances (uuid, vm_state, deleted) VALUES (?, '
                "'error', 0)", uuid)

    def later(self, seconds=1.0):
        """Look again after a while."""
        self.now += seconds
        self.watcher.poll()

    def told(self):
        """What was reported so far: list of dicts."""
        return list(report.read(self.path)) if self.path.exists() else []

    def verdict(self):
        """Verdict, rule and words of the one request that was reported."""
        [entry] = self.told()
        return entry['verdict'], entry['rule'], entry['why']

    def of_consumer(self, asked):
        return http_placement.held(self.held.get(_last(asked.path)))

    def of_provider(self, asked):
        provider = asked.path.split('/')[2]
        return http_placement.Answer(body={'allocations': {
            consumer: {'resources': found[provider]}
            for consumer, found in self.held.items() if provider in found},
            'resource_provider_generation': 3,
            'root_provider_uuid': provider})


def _last(path):
    return parse.unquote(path.rpartition('/')[2])


def offer(server, hosts):
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        *(http_placement.a_candidate(HOSTS[host]) for host in hosts)))
