"""The report of a shadow: a JSON line and a log line per request; totals."""

import json
import logging
import os

import pytest

from nova_sched import exception
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import report
from nova_sched.dry_run.shadow.compare import Comparison
from nova_sched.dry_run.shadow.compare import LiveDecision
from nova_sched.hosts import decision
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import Pick
from nova_sched.hosts.decision import State

SAME = Comparison(compare.SAME)
LOWER = Comparison(compare.LOWER, 'weight', 'b weighs less')
MOVED = Comparison(compare.NOT_COMPARABLE, 'state moved', 'RAM of a',
                   compare.SAME)


ON_A = LiveDecision((('a', 'a.org'),))


def an_entry(comparison=SAME, live=ON_A, reason=None, mirror=None):
    """An entry of a request for one instance, placed on host a here."""
    record = Decision(request_id='req-1', arrived=1_800_000_000.25,
                      state=State(hosts=7))
    record.picked(Pick(0, 'uuid1', 'a', 'a.org', 1.5))
    record.close(decision.PLACED, reason)
    return report.make_entry(record, ['uuid1'], live, comparison, 0.1234,
                             mirror)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'shadow.jsonl'


def test_line_has_both_decisions_and_the_verdict(path):
    """And no text of users, which a reason may contain."""
    report.Report(path).add(an_entry(
        LOWER, LiveDecision((('b', None),)), reason="zone 'z' requested"))

    assert path.stat().st_mode & 0o777 & ~0o640 == 0
    [line] = path.read_text().splitlines()
    entry = json.loads(line)
    assert entry['here'].pop('milliseconds') == {}
    assert entry == {
        'at': '2027-01-15T08:00:00.250+00:00', 'request_id': 'req-1',
        'instances': ['uuid1'], 'verdict': 'ranked lower', 'rule': 'weight',
        'why': 'b weighs less', 'otherwise': None,
        'here': {'outcome': 'placed', 'hosts': ['a'], 'weights': [1.5],
                 'rejected': {}, 'of': 7, 'seed': 0},
        'live': {'outcome': 'placed', 'hosts': ['b'], 'seconds': 0.123},
        'copy': None}


def test_moved_file_is_created_again(path):
    written = report.Report(path)
    written.add(an_entry())
    written.add(an_entry())
    path.rename(f'{path}.1')
    written.add(an_entry(LOWER))

    assert [entry['verdict'] for entry in report.read(f'{path}.1')] == [
        compare.SAME] * 2
    assert [entry['verdict'] for entry in report.read(path)] == [compare.LOWER]


def test_one_error_for_a_file_that_cannot_be_written(tmp_path, caplog):
    written = report.Report(tmp_path / 'nowhere' / 'file')
    for _ in range(3):
        written.add(an_entry())

    assert caplog.text.count('shadow_report') == 1
    assert written.summary().startswith('3 of 3 ')


def test_disagreement_is_logged_as_a_warning(caplog):
    caplog.set_level(logging.INFO)
    written = report.Report(None)
    written.add(an_entry())
    written.add(an_entry(LOWER, LiveDecision()))

    agreed, differed = caplog.records
    assert (agreed.levelname, agreed.message) == (
        'INFO', 'Request for uuid1: same hosts; here a, live a')
    assert (differed.levelname, differed.message) == (
        'WARNING', 'Request for uuid1: ranked lower (b weighs less); here a, '
        'live refused')


def test_log_line_has_at_most_ten_instances_and_hosts(caplog):
    caplog.set_level(logging.INFO)
    record = Decision()
    for number in range(11):
        record.picked(Pick(number, f'u{number}', f'h{number}', 'n', 1.0))
    record.close(decision.PLACED)
    uuids = [f'u{number}' for number in range(11)]
    live = LiveDecision(tuple((f'l{number}', None) for number in range(11)))
    report.Report(None).add(report.make_entry(record, uuids, live, SAME, 0))

    def ten(letter):
        return ', '.join(f'{letter}{number}' for number in range(10))

    assert caplog.messages == [
        f'Request for {ten("u")}: same hosts; here {ten("h")}, '
        f'live {ten("l")}']


def test_summary_counts_comparable_requests():
    written = report.Report(None)
    for comparison in (SAME, SAME, LOWER, MOVED):
        written.add(an_entry(comparison))

    assert written.summary() == (
        '2 of 3 comparable requests agree (2 same hosts, 1 ranked lower, '
        '1 not comparable)')


def test_totals_are_by_verdict_and_cause():
    entries = [an_entry(comparison) for comparison in (
        MOVED, LOWER, SAME, SAME,
        Comparison(compare.REFUSED_HERE, 'RamFilter', 'RamFilter refuses b'),
        Comparison(compare.REFUSED_HERE, 'DiskFilter', 'it refuses b'),
        Comparison(compare.REFUSED_HERE, 'DiskFilter', 'it refuses c'))]

    assert report.totals(entries) == [
        ('same hosts', '', 2), ('ranked lower', 'weight', 1),
        ('host refused here', 'DiskFilter', 2),
        ('host refused here', 'RamFilter', 1),
        ('not comparable', 'state moved, same hosts', 1)]


@pytest.mark.parametrize('text', ['no JSON', '[]', '{}', '7', '{"at": "20'])
def test_incomplete_line_is_skipped(path, text, caplog):
    line = json.dumps(an_entry())
    path.write_text(f'{line}\n{text}\n{text}\n{line}\n')

    assert len(list(report.read(path))) == 2
    assert caplog.messages == [f'Skipped 2 incomplete line(s) of {path}']


def test_line_is_ended_on_a_full_disk(path, monkeypatch):
    written, write = report.Report(path), os.write
    monkeypatch.setattr(os, 'write', lambda file, data: write(file, data[:20]))
    written.add(an_entry())
    monkeypatch.undo()
    written.add(an_entry())

    assert len(list(report.read(path))) == 1


def test_line_breaks_of_callers_are_escaped():
    entry = report.make_entry(
        Decision(request_id='a\nb'), ['c\nd'], LiveDecision(), SAME, 0)

    assert (entry['request_id'], entry['instances']) == ('a\\nb', ['c\\nd'])


@pytest.mark.parametrize('length', [3, 20, -1])
def test_last_line_being_written_is_ignored(path, caplog, length):
    line = json.dumps(an_entry()) + '\n'
    path.write_text(line + line[:length])

    assert len(list(report.read(path))) == 1
    assert caplog.text == ''


@pytest.mark.parametrize(('text', 'reason'), [
    (None, 'cannot be read'), ('{}', 'no line of a'), ('{}\n', 'no line of a'),
    ('a log\nwithout an end', 'no line of a')])
def test_other_file_is_refused(path, text, reason):
    if text is not None:
        path.write_text(text)

    with pytest.raises(exception.NovaSchedException, match=reason):
        list(report.read(path))
