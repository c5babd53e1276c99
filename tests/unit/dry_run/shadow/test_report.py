"""What a shadow tells: a line of JSON a request, and totals."""

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


def an_entry(comparison=SAME, live=ON_A, reason=None, copy=None):
    """Of a request for one instance that is placed on host a here."""
    record = Decision(request_id='req-1', arrived=1_800_000_000.25,
                      state=State(hosts=7))
    record.picked(Pick(0, 'uuid1', 'a', 'a.org', 1.5))
    record.close(decision.PLACED, reason)
    return report.make_entry(record, ['uuid1'], live, comparison, 0.1234,
                             copy)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'shadow.jsonl'


def test_a_line_tells_both_sides_and_what_they_come_to(path):
    report.Report(path).add(an_entry(LOWER, LiveDecision((('b', None),))))

    [line] = path.read_text().splitlines()
    told = json.loads(line)
    assert told['here'].pop('milliseconds') == {}
    assert told == {
        'at': '2027-01-15T08:00:00.250+00:00', 'request_id': 'req-1',
        'instances': ['uuid1'], 'verdict': 'ranked lower', 'rule': 'weight',
        'why': 'b weighs less', 'otherwise': None,
        'here': {'outcome': 'placed', 'hosts': ['a'], 'weights': [1.5],
                 'rejected': {}, 'of': 7, 'seed': 0},
        'live': {'outcome': 'placed', 'hosts': ['b'], 'seconds': 0.123},
        'copy': None}


def test_others_may_not_read_the_file(path):
    report.Report(path).add(an_entry())

    assert path.stat().st_mode & 0o777 & ~0o640 == 0


def test_what_users_wrote_stands_in_no_line(path):
    """A refusal's reason may quote hints and properties."""
    report.Report(path).add(an_entry(reason="zone 'of-the-user' requested"))

    assert 'of-the-user' not in path.read_text()


def test_lines_are_added_and_a_file_may_be_moved_away(path):
    told = report.Report(path)
    told.add(an_entry())
    told.add(an_entry())
    path.rename(f'{path}.1')
    told.add(an_entry(LOWER))

    assert [one['verdict'] for one in report.read(f'{path}.1')] == [
        compare.SAME] * 2
    assert [one['verdict'] for one in report.read(path)] == [
        compare.LOWER]


def test_a_file_that_cannot_be_written_is_told_once(tmp_path, caplog):
    told = report.Report(tmp_path / 'nowhere' / 'file')
    for _ in range(3):
        told.add(an_entry())

    assert caplog.text.count('shadow_report') == 1
    assert told.summary().startswith('3 of 3 ')


def test_a_disagreement_is_a_warning_and_agreement_is_none(caplog):
    caplog.set_level(logging.INFO)
    told = report.Report(None)
    told.add(an_entry())
    told.add(an_entry(LOWER, LiveDecision()))

    agreed, differed = caplog.records
    assert (agreed.levelname, agreed.message) == (
        'INFO', 'Request for uuid1: same hosts; here a, live a')
    assert (differed.levelname, differed.message) == (
        'WARNING', 'Request for uuid1: ranked lower (b weighs less); here a, '
        'live refused')


def test_a_log_line_names_the_first_ten_instances_and_hosts(caplog):
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


def test_the_summary_leaves_what_cannot_be_compared_apart():
    told = report.Report(None)
    for comparison in (SAME, SAME, LOWER, MOVED):
        told.add(an_entry(comparison))

    assert told.summary() == (
        '2 of 3 comparable requests agree (2 same hosts, 1 ranked lower, '
        '1 not comparable)')


def test_totals_are_by_verdict_and_by_what_it_comes_from():
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
def test_an_incomplete_line_costs_itself_alone(path, text, caplog):
    line = json.dumps(an_entry())
    path.write_text(f'{line}\n{text}\n{text}\n{line}\n')

    assert len(list(report.read(path))) == 2
    assert caplog.messages == [
        f'Skipped 2 incomplete line(s) of {path}']


def test_a_disk_that_is_full_in_the_middle_of_a_line_ends_it(
        path, monkeypatch):
    told, write = report.Report(path), os.write
    monkeypatch.setattr(
        os, 'write', lambda file, data: write(file, data[:20]))
    told.add(an_entry())
    monkeypatch.undo()
    told.add(an_entry())

    assert len(list(report.read(path))) == 1


def test_what_callers_wrote_begins_no_line_of_the_log():
    found = report.make_entry(
        Decision(request_id='a\nb'), ['c\nd'], LiveDecision(), SAME, 0)

    assert (found['request_id'], found['instances']) == ('a\\nb', ['c\\nd'])


def test_a_file_that_is_not_there_is_told(path):
    with pytest.raises(exception.NovaSchedException, match='cannot be read'):
        list(report.read(path))


@pytest.mark.parametrize('length', [3, 20, -1])
def test_a_line_that_is_being_written_is_not_incomplete(path, caplog, length):
    line = json.dumps(an_entry()) + '\n'
    path.write_text(line + line[:length])

    assert len(list(report.read(path))) == 1
    assert caplog.text == ''


@pytest.mark.parametrize('text', ['{}', '{}\n', 'a log\nwithout an end'])
def test_a_file_of_something_else_is_refused(path, text):
    path.write_text(text)

    with pytest.raises(exception.NovaSchedException, match='no line of a'):
        list(report.read(path))
