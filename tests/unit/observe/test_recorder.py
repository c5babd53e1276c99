"""The records of ended requests: bounded in bytes, one log line each."""

import logging

import numpy as np
import pytest

from nova_sched.hosts import decision
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.labels import Labels
from nova_sched.observe.recorder import Recorder
from nova_sched.weights import Weighed

UUIDS = [f'00000000-0000-4000-8000-{number:012}' for number in range(300)]


def a_record(hosts=1000, names=(), instances=1):
    """A closed record that weighed so many hosts and rejected as many."""
    record = Decision(instances=instances, hosts=2 * hosts, names=names,
                      request={'instance_uuids': UUIDS[:instances]})
    weights = np.zeros(hosts)
    weighed = Weighed(np.arange(hosts), weights, ('RAMWeigher',),
                      weights[np.newaxis], weights[np.newaxis], [1.0])
    for index in range(instances):
        record.picked(Pick(index, UUIDS[index], f'h{index}', f'h{index}'),
                      weighed.names, decision.Weights(
                          *weighed.columns(record.room_for_weights),
                          weighed.parts(0)))
    record.step(0, 'SizeFilter', np.arange(2 * hosts), np.arange(hosts))
    record.close(decision.PLACED)
    record.pack()
    return record


def kept(recorder):
    """Whether the records still have rejected hosts, oldest first."""
    return [bool(list(record.rejected())) for record in recorder.decisions]


class TestMemory:
    def test_keeps_all_while_there_is_room(self):
        recorder = Recorder(1 << 20)
        for _ in range(10):
            recorder.add(a_record())

        assert kept(recorder) == [True] * 10
        assert recorder.size == sum(
            record.size() for record in recorder.decisions)

    def test_gives_up_rejected_hosts_first_and_then_records(self):
        """Of the oldest in each case."""
        size = a_record().size()
        recorder, seen = Recorder(size), []
        for _ in range(40):
            recorder.add(a_record())
            seen.append(kept(recorder))

        assert seen[0] == [True]
        first = next(state for state in seen if False in state)
        assert first == sorted(first)
        assert len(seen[-1]) < 40

    def test_is_the_same_for_a_request_at_any_number_of_hosts(self):
        """But for rejected ones."""
        few, many = a_record(hosts=100), a_record(hosts=10000)
        for record in (few, many):
            Recorder(1 << 20).add(record)
            record.forget_rejected()

        assert few.size() == many.size() < 10 << 10
        assert many.weighed[0].rows.tolist() == list(range(decision.BEST))

    @pytest.mark.parametrize('hosts, instances', [(10, 1), (1000, 30),
                                                  (5000, 200)])
    def test_is_never_exceeded(self, hosts, instances):
        recorder = Recorder(1 << 20)
        for _ in range(20):
            recorder.add(a_record(hosts, instances=instances))

            assert recorder.size <= 1 << 20
            assert recorder.size == sum(
                record.size() for record in recorder.decisions)

    def test_counts_names_that_records_share_once(self):
        names = tuple(Labels.of([f'h{i}' for i in range(1000)])
                      for _ in range(2))
        recorder, record = Recorder(1 << 24), a_record(names=names)
        recorder.add(record)
        one = recorder.size
        recorder.add(a_record(names=names))

        assert recorder.size - one == record.size()
        assert one - record.size() == 2 * 4 * 1000

    def test_has_the_names_of_many_tables_once(self):
        """As each reload reads them anew, mostly the same."""
        def names(*more):
            return tuple(Labels.of([*(f'h{i}' for i in range(100)), *more])
                         for _ in range(2))
        recorder = Recorder(1 << 24)
        for more in ((), (), ('new',), ('new',)):
            recorder.add(a_record(names=names(*more)))

        records = recorder.decisions
        assert records[0].names == records[1].names
        assert records[2].names == records[3].names
        assert len({id(record.names[0].values) for record in records}) == 1
        assert [record.host_of(99) for record in records] == [
            ('h99', 'h99')] * 4
        assert records[2].host_of(100) == ('new', 'new')

    def test_leaves_the_names_of_a_table_alone(self):
        """Whoever refreshes it adds to them."""
        names = Labels.of('abc'), Labels.of('abc')
        recorder = Recorder(1 << 24)
        recorder.add(a_record(names=names))
        recorder.add(a_record(names=(Labels.of('abcd'), Labels.of('abcd'))))

        assert names[0].values == ['a', 'b', 'c']

    def test_is_free_again_when_records_are_forgotten(self):
        recorder = Recorder(1)
        recorder.add(a_record(names=(Labels.of('abc'), Labels.of('abc'))))

        assert recorder.decisions == []
        assert recorder.size == 0


class TestLine:
    def lines(self, caplog, record):
        with caplog.at_level(logging.INFO, 'nova_sched'):
            Recorder(1 << 20).add(record)
        return caplog.messages

    def test_names_each_instance_with_its_host(self, caplog):
        [line] = self.lines(caplog, a_record(instances=3))

        assert line.startswith(
            f'Request for 3 instance(s) placed: {UUIDS[0]} on h0, '
            f'{UUIDS[1]} on h1, '
            f'{UUIDS[2]} on h2; 0 alternate(s), 2000 hosts')

    def test_counts_those_beyond_the_first_hundred(self, caplog):
        [line] = self.lines(caplog, a_record(10, instances=250))

        assert f'{UUIDS[99]} on h99 and 150 more; ' in line
        assert UUIDS[100] not in line

    @pytest.mark.parametrize('outcome', [decision.REFUSED, decision.FAILED])
    def test_names_the_instances_that_were_not_placed_and_why(self, caplog,
                                                              outcome):
        record = Decision(instances=2, seed=7, milliseconds={'state': 1.25},
                          request={'instance_uuids': UUIDS[:2]})
        record.close(outcome, 'no hosts')

        assert self.lines(caplog, record) == [
            f'Request for 2 instance(s) ({UUIDS[0]}, {UUIDS[1]}) {outcome}: '
            'no hosts; 0 alternate(s), 0 hosts, state 1.2 ms, seed 7']

    def test_tells_how_old_the_copy_of_placement_was(self, caplog):
        record = a_record()
        record.copy_age = 1.44

        [line] = self.lines(caplog, record)

        assert '2000 hosts, candidates from a copy 1.4 s old, ' in line


@pytest.mark.parametrize(('times', 'kept_whole'), [(9, True), (7, False)])
def test_a_request_above_an_eighth_of_the_memory_is_not_kept(
        times, kept_whole):
    """One huge call must not cost the records of all others."""
    record = a_record()
    record.forget_weights()
    whole = record.request
    recorder = Recorder(times * record.size())
    recorder.add(record)
    assert (record.request is whole) is kept_whole
    assert recorder.size == record.size()
