"""The one line about a request in the log at INFO."""

import logging

import pytest

from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.decision import Decision
from nova_sched.observe.recorder import Recorder
from tests.builders import decisions

UUIDS = decisions.UUIDS


class TestLine:
    def lines(self, caplog, record):
        with caplog.at_level(logging.INFO, 'nova_sched'):
            Recorder().add(record)
        return caplog.messages

    def test_names_each_instance_with_its_host(self, caplog):
        [line] = self.lines(caplog, decisions.a_record(instances=3))

        assert line.startswith(
            f'Request for 3 instance(s) placed: {UUIDS[0]} on h0, '
            f'{UUIDS[1]} on h1, '
            f'{UUIDS[2]} on h2; 0 alternate(s), 2000 hosts')

    def test_counts_those_beyond_the_first_hundred(self, caplog):
        [line] = self.lines(caplog, decisions.a_record(250, instances=250))

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

    def test_ends_the_reason_with_its_code_and_the_counts(self, caplog):
        record = Decision(instances=1, seed=7)
        record.refuse('ram', 'fragmented', [('ram', 12), ('zone', 6)])
        record.close(decision.REFUSED, '0 of 18 hosts')

        assert self.lines(caplog, record) == [
            'Request for 1 instance(s) refused: 0 of 18 hosts; code ram, '
            'kind fragmented (12 ram, 6 zone); 0 alternate(s), 0 hosts, '
            'seed 7']

    def test_tells_how_old_the_copy_of_placement_was(self, caplog):
        record = decisions.a_record(offer=AllocationCandidates(
            {}, frozenset(), '1.36', age=1.44))

        [line] = self.lines(caplog, record)

        assert '2000 hosts, candidates from a copy 1.4 s old, ' in line
