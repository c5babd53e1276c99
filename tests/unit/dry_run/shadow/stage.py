"""A shadow without a broker, beside a simulated live scheduler.

The decisions of the live scheduler are contents of Placement and of the
database.
"""

from urllib import parse

from nova_sched.dry_run import decider
from nova_sched.dry_run.shadow import live_picks
from nova_sched.dry_run.shadow import report
from nova_sched.dry_run.shadow import tap
from nova_sched.dry_run.shadow import watcher
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_uuid

#: Providers of the hosts a, b and c, in the order of their weights.
A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
HOSTS = {'a': A, 'b': B, 'c': C}
TOKEN = 'the-token-of-the-caller'
PATIENCE = 60


class Stage:
    """A shadow on a cloud and a Placement.

    held: consumer -> provider -> class -> amount, Placement's allocations.
    now: the clock of the shadow.
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
        self.live_picks = live_picks.LivePicks(conf, self.decider)
        self.watcher = watcher.LiveDecisionWatcher(
            conf, self.decider, self.live_picks, report.Report(self.path),
            clock=lambda: self.now)

    def close(self):
        self.decider.stop()
        self.live_picks.close()

    def request(self, count=1, uuids=None, **request):
        """Decide a request here; return the uuids of its instances."""
        uuids = uuids or [a_uuid() for _ in range(count)]
        self.call(spec_obj=requests.a_request(
            num_instances=len(uuids), instance_uuid=uuids[0],
            **request).obj_to_primitive(), instance_uuids=uuids)
        return uuids

    def call(self, **args):
        """Pass a call of select_destinations to the watcher."""
        uuids = args.get('instance_uuids')
        self.watcher.add(tap.Call('select_destinations', args, {
            'auth_token': TOKEN,
            'request_id': f'req-{uuids[0]}' if uuids else 'req-1'}))

    def claim(self, uuid, host, vcpus=1):
        """Let the live scheduler claim a host for an instance."""
        self.held[uuid] = {HOSTS[host]: {'VCPU': vcpus}}

    def place(self, host, uuid=None):
        """Decide a request here and there; return its instance."""
        [uuid] = self.request(uuids=[uuid or a_uuid()])
        return self.claim_and_wait(uuid, host)

    def claim_and_wait(self, uuid, host):
        self.claim(uuid, host)
        self.wait()
        return uuid

    def boot(self, uuid, host):
        """Set the host in the row of an instance."""
        self.cloud.execute('INSERT INTO instances (uuid, host, deleted) '
                           'VALUES (?, ?, 0)', uuid, host)

    def refuse(self, *uuids):
        """Let the live scheduler refuse instances."""
        for uuid in uuids:
            self.cloud.execute(
                'INSERT INTO instances (uuid, vm_state, deleted) VALUES (?, '
                "'error', 0)", uuid)
        self.wait()

    def wait(self, seconds=1.0):
        """Poll after some seconds."""
        self.now += seconds
        self.watcher.poll()

    def entries(self):
        """Return the reported entries: list of dicts."""
        return list(report.read(self.path)) if self.path.exists() else []

    def verdict(self):
        """Return verdict, rule and reason of the only entry."""
        [entry] = self.entries()
        return entry['verdict'], entry['rule'], entry['why']

    def of_consumer(self, asked):
        return http_placement.held(self.held.get(_last(asked.path)))

    def of_provider(self, asked):
        provider = asked.path.split('/')[2]
        return http_placement.Answer(body={'allocations': {
            consumer: {'resources': held[provider]}
            for consumer, held in self.held.items() if provider in held},
            'resource_provider_generation': 3,
            'root_provider_uuid': provider})


def _last(path):
    return parse.unquote(path.rpartition('/')[2])


def offer(server, hosts):
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        *(http_placement.a_candidate(HOSTS[host]) for host in hosts)))
