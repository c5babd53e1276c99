"""Mutated messages get an answer or a log line, and the service goes on.

Captured messages of real conductors go to a daemon with one value changed in
each; after each hundred a good request must be answered.

NOVA_SCHED_TEST_MUTATIONS: how many; 100,000 take some twenty minutes.
NOVA_SCHED_TEST_SEED: selects other changes.
"""

import collections
import json
import os
import random
import sys
import time

import psutil
import pytest

from nova_sched import filters
from nova_sched.rules import loadables
from tests.builders import mutations
from tests.functional import broker
from tests.functional import captures
from tests.functional import processes

pytestmark = pytest.mark.real

MUTATIONS = int(os.environ.get('NOVA_SCHED_TEST_MUTATIONS', 1_500))
SEED = os.environ.get('NOVA_SCHED_TEST_SEED', '34')

#: Mutated messages between two good requests.
ROUND = 100

#: Classes of errors with the reason why a message is wrong.
TYPED = {
    'InvalidInput', 'NoValidHost', 'IncompatibleObjectVersion',
    'NoSuchMethod', 'UnsupportedVersion',
    # Unknown arguments are a TypeError of Python, as in Nova's services.
    'TypeError',
}

# Without TrustedFilter, which needs a server, and filters that reject all.
_FILTERS = [
    cls.__name__ for cls in loadables.find_classes(
        'nova_sched.scheduler.filters', filters.BaseFilter)
    if cls.__name__ not in {
        'TrustedFilter', 'ExactCoreFilter', 'ExactDiskFilter',
        'ExactRamFilter'}]


class Attack:
    """Sends mutated messages to a daemon and records the outcomes.

    daemon: a Program.  wire: a broker.Wire.
    """

    def __init__(self, daemon, wire):
        self.daemon, self._wire = daemon, wire
        self._random = random.Random(SEED)
        self._captures = [captures.load(name) for era in captures.ERAS
                          for name in captures.names(era)]
        self._good = captures.load('34-simple-flavor')['request']
        self._log = daemon.log.open(errors='replace')
        self.slowest, self.outcomes = 0.0, collections.Counter()
        self.memory, self.threads = [], []
        #: (outcome, changed value) of each wrong outcome.
        self.wrong = []

    def round(self, size):
        """Send some mutated messages, then a good request."""
        asked, silent = {}, []
        for _ in range(size):
            capture = self._random.choice(self._captures)
            message = self._wire.fresh(capture['request'])
            body = message['body']
            path, message['body'] = mutations.mutated(
                body, self._random.getrandbits(32))
            what = f'{"/".join(map(str, path))} = ' + _short(
                message['body'], path)
            msg_id = body['oslo.message'].get('_msg_id')
            if msg_id and _returns(body, message['body']):
                asked[msg_id] = what
                self._wire.send(message)
            else:
                silent.append((what, message,
                               _wants_answer(message['body']) and msg_id))
        self._judge(asked, self._wire.replies(asked))
        for what, message, msg_id in silent:
            self._send_silent(what, message, msg_id)
        self._ask_well()

    def _judge(self, asked, replies):
        for msg_id, what in asked.items():
            reply = replies.get(msg_id)
            if reply is None:
                self.outcomes['no answer'] += 1
                self.wrong.append(('no answer', what))
                continue
            failure = json.loads(reply['failure'] or 'null')
            came = failure['class'] if failure else 'hosts'
            self.outcomes[came] += 1
            if failure and came not in TYPED:
                self.wrong.append((f'{came}: {failure["message"]:.200}', what))
        self._read()

    def _send_silent(self, what, message, msg_id):
        """Send a message without a valid reply address; wait for a log line.

        msg_id: of the call before its mutation; false for a cast, which needs
            no line.
        """
        self._wire.send(message)
        self.outcomes['a line or answer' if msg_id else 'cast'] += 1
        if msg_id:
            processes.until(
                lambda: self._read() or self._wire.receives_any(0.05),
                f'an answer to, or a line about {what}')

    def _ask_well(self):
        began = time.monotonic()
        message = self._wire.fresh(self._good)
        self._wire.send(message)
        msg_id = message['body']['oslo.message']['_msg_id']
        reply = self._wire.replies([msg_id]).get(msg_id)
        self.slowest = max(self.slowest, time.monotonic() - began)
        if reply is None or reply['failure'] is not None:
            self.wrong.append(('a good request', str(reply)))
        worker = psutil.Process(self.daemon.workers[0])
        self.memory.append(worker.memory_info().rss >> 20)
        self.threads.append(worker.num_threads())
        self._read()

    def _read(self):
        """Read new log lines; a traceback is wrong."""
        lines = self._log.readlines()
        self.wrong += [(line.strip(), 'in the log') for line in lines
                       if ' Traceback (most recent' in line]
        return lines


def _returns(whole, changed):
    """Whether a changed body still has its reply address."""
    if whole.keys() != changed.keys() or (
            whole['oslo.version'] != changed['oslo.version']):
        return False
    inner, other = whole['oslo.message'], changed['oslo.message']
    return isinstance(other, dict) and all(
        inner.get(name) == other.get(name)
        for name in ('_msg_id', '_reply_q', '_unique_id'))


def _wants_answer(body):
    """Whether a body is no message, or has the id of a call."""
    inner = body.get('oslo.message') if isinstance(body, dict) else None
    return not isinstance(inner, dict) or bool(inner.get('_msg_id'))


def _short(message, path):
    try:
        text = ascii(mutations.at(message, path))
    except (KeyError, IndexError):
        text = 'removed'
    return text if len(text) < 200 else f'{text[:200]}... ({len(text)})'


def test_each_mutated_message_gets_an_answer_or_a_line(tmp_path):
    """Good requests are answered, and no worker dies."""
    with captures.open_stage(
            tmp_path, nova_sched__pick_lifetime=0,
            filter_scheduler__enabled_filters=','.join(_FILTERS)) as stage:
        daemon = stage.daemon()
        workers = daemon.workers
        with broker.wire(stage.transport_url) as wire:
            attack = Attack(daemon, wire)
            for _ in range(MUTATIONS // ROUND):
                attack.round(ROUND)
        each = max(1, len(attack.memory) // 10)
        sys.stdout.write(
            f'\n{MUTATIONS} changed messages: {dict(attack.outcomes)}; '
            f'slowest good request {attack.slowest:.2f} s; MiB '
            f'{attack.memory[::each]}, threads {attack.threads[::each]}\n')
        assert not attack.wrong, '\n'.join(
            map(' <- '.join, attack.wrong[:50]))
        assert daemon.workers == workers
