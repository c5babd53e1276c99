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

import prettytable

from nova_sched import conf as config
from nova_sched import service
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd import manage
from nova_sched.db import engine as db_engine
from nova_sched.hosts.decision import REFUSED

HOSTS = 20

_CONFIG = """
[DEFAULT]
transport_url = {transport_url}
host = demo
# Keeps apart from a scheduler on the same broker.
control_exchange = nova_sched_demo
[database]
connection = {database_url}
[scheduler]
driver = filter_scheduler
"""


#: More than any host has, free or not.
TOO_MUCH_RAM_MB = 2_000_000


class UnexpectedAnswer(Exception):
    """An answer is not the one that its heading says."""


class Tour:
    """One service, one fake cloud, and the commands that run on them."""

    def __init__(self, config_file):
        self._config_file = str(config_file)
        self.conf = config.new_conf([], [self._config_file])

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
        listed = io.StringIO()
        with contextlib.redirect_stdout(listed):
            self.expect(self._manage('host list -f json') == 0, 'no hosts')
        return {row['Host']: row for row in json.loads(listed.getvalue())}

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
            yield scheduler
        finally:
            scheduler.stop()


def last_decision(scheduler):
    """Return the record of the service's last decision."""
    return scheduler.decisions[-1]


def show_decision(decision):
    """Print the record of a decision as two tables."""
    steps = prettytable.PrettyTable(['Filter', 'Hosts before', 'Hosts after'])
    for step in decision.steps:
        if step.index == 0:
            steps.add_row([step.name, step.before, step.after])
    print(steps)
    for pick in decision.picks[:1]:
        parts = prettytable.PrettyTable(
            ['Weigher', 'Raw value', 'Normalized', 'Multiplier', 'Score'],
            title=f'{pick.host}: weight {pick.weight:.4f}, '
                  f'seed {decision.seed}')
        for part in decision.parts(pick.index):
            parts.add_row([part.name, f'{part.raw:.12g}',
                           number(part.normalized),
                           f'{part.multiplier:.12g}', number(part.score)])
        print(parts)


def number(value):
    """Format a number with four decimals; -0.00001 is 0.0000."""
    return f'{round(value, 4) + 0:.4f}'


def show(tour):
    """Run the tour."""
    tour.say(f'A fake cloud of {HOSTS} hosts')
    tour.run('db sync')
    tour.run(f'cloud fake --hosts {HOSTS} --once')
    with tour.heartbeats() as cloud, tour.service() as scheduler:
        tour.run('host list')
        tour.expect(len(tour.hosts()) == HOSTS, f'{len(tour.hosts())} hosts')

        tour.say('One instance, with alternates')
        tour.run('request call --vcpus 2 --ram 4096 --disk 20 --boot')
        decision = last_decision(scheduler)
        tour.expect(len(decision.picks) == 1 and decision.alternates,
                    f'{len(decision.picks)} hosts and '
                    f'{decision.alternates} alternates')
        tour.say('Why that host')
        show_decision(decision)

        tour.say('Four instances in one zone, each with alternates')
        tour.run('request call --count 4 --ram 8192 --disk 40 --zone az1 '
                 '--boot')
        cloud.audit()
        decision, hosts = last_decision(scheduler), tour.hosts()
        zones = [hosts[pick.host]['Zone'] for pick in decision.picks]
        tour.expect(zones == ['az1'] * 4 and decision.alternates >= 4,
                    f'zones {zones}, {decision.alternates} alternates')
        tour.say('What the fake compute node made of it')
        selected = decision.picks[0].host
        tour.run(f'host show {selected} -c host -c free_ram_mb '
                 '-c num_instances -c instances')
        tour.expect(hosts[selected]['Instances'], 'no instance')

        tour.say('A request that no host can take, and why')
        tour.run(f'request call --ram {TOO_MUCH_RAM_MB} --disk 20',
                 succeeds=False)
        decision = last_decision(scheduler)
        tour.expect(decision.outcome == REFUSED, f'it was {decision.outcome}')
        tour.say('What the log says of it, with numbers')
        print(decision.reason)
    print('\nThat was the tour.')


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
            transport_url=args.transport_url,
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
