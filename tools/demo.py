"""A tour of the service on a fake cloud of 20 hosts; see demo.sh.

It runs the service and commands of ``nova-sched-manage``, as an operator does.
The in-memory transport needs both in one process, this one.

The exit code is 1 if an answer is not the one that its heading says.
"""

import argparse
import contextlib
import io
import json
import logging
import pathlib
import shlex
import sys
import tempfile
import threading
import time

from nova_sched import conf as config
from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd import manage
from nova_sched.db import engine as db_engine
from nova_sched.hosts.decision import REFUSED
from nova_sched.observe import recorder

HOSTS = 20

_CONFIG = """
[DEFAULT]
transport_url = {transport_url}
host = demo
state_path = {directory}
# Keeps apart from a scheduler on the same broker.
control_exchange = nova_sched_demo
[database]
connection = {database_url}
[scheduler]
driver = filter_scheduler
"""


#: What the tour leaves.
PAGE = pathlib.Path(tempfile.gettempdir(), 'nova-sched-demo.html')
CLOUD = PAGE.with_suffix('.json')

#: More than any host has, free or not.
TOO_MUCH_RAM_MB = 2_000_000


class UnexpectedAnswer(Exception):
    """An answer is not the one that its heading says."""


class Tour:
    """One service, one fake cloud, and the commands that run on them."""

    def __init__(self, config_file):
        self._config_file = str(config_file)
        self.conf = config.new_conf([], [self._config_file])
        #: Number of the decision that was looked at last.
        self.last = None

    def say(self, text):
        """Print a heading."""
        print(f'\n== {text}\n', flush=True)

    def run(self, command, succeeds=True):
        """Print and run one command line of nova-sched-manage.

        Raises UnexpectedAnswer unless it succeeds or fails as expected.
        """
        print(f'$ nova-sched-manage {command}', flush=True)
        code = self._manage(command)
        self.expect((code == 0) == succeeds, f'exit code {code}')

    def hosts(self):
        """Return the rows of "host list": {host: {column: value}}."""
        return {row['Host']: row for row in self._json('host list')}

    def last_decision(self):
        """Return what is kept of the last request of "request call": dict."""
        # What has just been answered is kept within a moment.
        time.sleep(2 * recorder.INTERVAL)
        [row] = self._json('decision list --limit 1')
        self.last = row['Number']
        return self._json(f'decision show {self.last}')

    def _json(self, command):
        """Return what a command writes as JSON."""
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            code = self._manage(f'{command} -f json')
        self.expect(code == 0, f'exit code {code} of {command}')
        return json.loads(written.getvalue())

    def expect(self, condition, found):
        """Raise UnexpectedAnswer, saying what was found, unless it holds."""
        if not condition:
            raise UnexpectedAnswer(found)

    def _manage(self, command):
        code = manage.main(['--config-file', self._config_file,
                            *shlex.split(command)])
        # Each command adds a handler of its own to the process.
        logging.getLogger().handlers.clear()
        return code

    @contextlib.contextmanager
    def heartbeats(self):
        """Send heartbeats of the fake compute services during a block."""
        stop = threading.Event()
        cloud = fake_cloud.FakeCloud(
            db_engine.database(self.conf).engine, HOSTS)
        thread = threading.Thread(target=cloud.run, args=(stop, 2.0))
        thread.start()
        try:
            yield cloud
        finally:
            stop.set()
            thread.join()

    @contextlib.contextmanager
    def service(self):
        """Run the scheduler service in this process during a block."""
        scheduler = service.SchedulerService(self.conf)
        scheduler.start()
        try:
            yield
        finally:
            scheduler.stop()


def picked(decision):
    """Return the hosts of a decision, and how many alternates it has."""
    return ([pick['host'] for pick in decision['picks']],
            decision['alternates'])


def show(tour):
    """Run the tour."""
    tour.say(f'A fake cloud of {HOSTS} hosts')
    tour.run('db sync')
    tour.run(f'cloud fake --hosts {HOSTS} --once')
    with tour.heartbeats() as cloud, tour.service():
        tour.run('host list')
        tour.expect(len(tour.hosts()) == HOSTS, f'{len(tour.hosts())} hosts')

        tour.say('One instance, with alternates')
        tour.run('request call --vcpus 2 --ram 4096 --disk 20 --boot')
        tour.say('Why that host')
        hosts, alternates = picked(tour.last_decision())
        tour.expect(len(hosts) == 1 and alternates,
                    f'{len(hosts)} hosts and {alternates} alternates')
        tour.run(f'decision show {tour.last} -c outcome -c picks -c best '
                 '-c filters -c rejected -c seed')

        tour.say('Four instances in one zone, each with alternates')
        tour.run('request call --count 4 --ram 8192 --disk 40 --zone az1 '
                 '--boot')
        cloud.audit()
        names, alternates = picked(tour.last_decision())
        hosts = tour.hosts()
        zones = [hosts[name]['Zone'] for name in names]
        tour.expect(zones == ['az1'] * 4 and alternates >= 4,
                    f'zones {zones}, {alternates} alternates')
        tour.say('That host, with the instance built')
        selected = names[0]
        tour.run(f'host show {selected} -c host -c free_ram_mb '
                 '-c num_instances -c instances')
        tour.expect(hosts[selected]['Instances'], 'no instance')

        tour.say('A request that no host can take, and why')
        tour.run(f'request call --ram {TOO_MUCH_RAM_MB} --disk 20',
                 succeeds=False)
        outcome = tour.last_decision()['outcome']
        tour.expect(outcome == REFUSED, f'it was {outcome}')
        tour.say('The stored decision, with numbers')
        tour.run(f'decision show {tour.last} -c outcome -c reason -c filters '
                 '-c rejected')
        tour.say('The reasons, one host, and changes that would help')
        tour.run(f'decision explain {tour.last} --host fake-0003 '
                 f'--or-flavor smaller=65536,1,20 --html {PAGE}')
        tour.expect(PAGE.exists(), f'no {PAGE}')
        tour.say('The cloud as a file')
        tour.run(f'cloud export {CLOUD}')
        plan = f'request plan --cloud {CLOUD} --ram 120000 --count 2'
        tour.run(plan)
        tour.say('How many more instances fit')
        tour.run(f'capacity show --cloud {CLOUD} --flavor web=32G,8,100G '
                 '--flavor numa.2x=64G,8,40G,hw:numa_nodes=2 '
                 '--enable NUMATopologyFilter --by zone')
    program = pathlib.Path(sys.executable).with_name('nova-sched-manage')
    print(f'\nThat was the tour. {PAGE} is the last refusal as a page: open '
          f'it in a browser. {CLOUD} is the cloud. Go on with it:\n\n'
          f'  {program} {plan} --host fake-0005\n'
          f'  {program} help request plan')


def main():
    """Parse the command line, run the tour, and return an exit code."""
    parser = argparse.ArgumentParser(prog='demo.sh', description=__doc__)
    parser.add_argument(
        '--transport-url', default='fake://', metavar='URL',
        help='message broker, such as rabbit://user:password@host:5672/; '
             'default: in memory')
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix='nova-sched-demo-') as directory:
        config_file = pathlib.Path(directory) / 'nova-sched.conf'
        config_file.write_text(_CONFIG.format(
            transport_url=args.transport_url, directory=directory,
            database_url=f'sqlite:///{directory}/nova_sched.sqlite'))
        try:
            show(Tour(config_file))
        except UnexpectedAnswer as error:
            print(f'\ndemo: unexpected answer: {error}',
                  file=sys.stderr)
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
