"""Messages as they come from the broker, and the way to it."""

import json
import pathlib

from kombu.utils import functional
import pytest

from nova_sched.dry_run.shadow import tap
from tests.builders import rules

WIRE = pathlib.Path(__file__).parents[3] / 'wire'


def captured(name):
    """The call of a captured request."""
    body = json.loads((WIRE / f'{name}.json').read_text())['request'][
        'body_raw']
    return tap.Call.from_message(json.loads(
        json.loads(body)['oslo.message']))


@pytest.mark.parametrize('name', [
    '34-simple-flavor', 'queens-simple-flavor', '34-kilo-style-call',
    'queens-cap-4-2-legacy-dicts'])
def test_a_captured_call_is_read_with_its_context(name):
    call = captured(name)

    assert call.method == tap.SELECT_DESTINATIONS
    assert call.args.keys() & {'spec_obj', 'request_spec'}
    assert call.context['request_id'].startswith('req-')


def test_a_ping_asks_for_no_hosts():
    assert captured('34-baseapi-ping').method == 'baseapi.ping'


def test_what_is_shown_of_a_call_holds_no_token_and_nothing_of_a_user():
    shown = repr(captured('34-simple-flavor'))

    assert 'select_destinations' in shown
    assert not [word for word in ('tok', 'spec_obj', 'nova_object')
                if word in shown]


@pytest.mark.parametrize('message', [
    {}, {'oslo.version': '2.0'}, {'method': 'a', 'args': 7},
    {'method': 'a', 'args': 'text'}])
def test_a_message_that_is_no_call_is_refused(message):
    with pytest.raises(ValueError, match='no RPC message'):
        tap.Call.from_message(message)


@pytest.mark.parametrize(('url', 'options'), [
    ('rabbit://localhost/', []), ('fake://', ['[DEFAULT] transport_url'])])
def test_needs_a_rabbitmq(url, options):
    found = tap.problems(rules.a_conf(DEFAULT__transport_url=url))

    assert [error.option for error in found] == options


def test_a_broker_that_is_away_is_told_without_a_wait(monkeypatch):
    """Who listens is asked by others meanwhile, and tries again by itself."""
    waits = []
    monkeypatch.setattr(functional, 'sleep', waits.append)
    found = tap.Tap(rules.a_conf(DEFAULT__transport_url=(
        'rabbit://u:p@127.0.0.1:1,u:p@127.0.0.1:2/')))

    with pytest.raises(tap.ConnectionLost, match='refused'):
        found.open()

    assert waits == []
