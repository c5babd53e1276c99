"""Each captured shape of request, sent by Nova 34's own client classes.

They send Nova's objects over a real RabbitMQ, and make Nova's objects of the
answers.  The hosts are the captured scheduler's four.  One Nova sends all
requests; the tests look at its results.
"""

import pytest

from tests.functional import captures
from tests.functional import test_wire as wire
from tests.interop.conftest import Nova

pytestmark = pytest.mark.real

#: Values of [upgrade_levels] scheduler: calls without objects, without uuids,
#: with dicts.
CAPS = ('4.4', '4.3', '4.2')


def sent(name):
    """A captured message: method, args, version."""
    return captures.load(f'34-{name}')['request']['decoded']['oslo.message']


def shapes(test):
    """Names of the captured messages that satisfy a predicate."""
    return [name.partition('-')[2] for name in captures.names('34')
            if test(sent(name.partition('-')[2]))]


def is_request(message):
    return (message['method'] == 'select_destinations'
            and message['version'] == '4.5' and bool(
                message['args'].get('instance_uuids'))
            and message['args']['spec_obj'] is not None)


#: Requests that a conductor's client classes can send.
REQUESTS = shapes(is_request)
#: Other calls: of older releases, and wrong calls.
SAID = [name for name in shapes(lambda message: '_msg_id' in message)
        if name not in REQUESTS and not name.startswith(('cap', 'baseapi'))]
CASTS = shapes(lambda message: '_msg_id' not in message)


#: Older forms with another meaning: in a group of dicts its hosts count, as
#: at that time; in later forms its members count.
SAYS_OTHERWISE = {('server-group-anti-affinity', '4.2')}


@pytest.fixture(scope='module')
def stage(tmp_path_factory):
    with captures.open_stage(
            tmp_path_factory.mktemp('shapes'), DEFAULT__debug=True,
            # No call counts for the next one.
            nova_sched__pick_lifetime=0,
            filter_scheduler__enabled_filters=captures.FILTERS) as stage:
        yield stage


@pytest.fixture(scope='module')
def daemon(stage):
    return stage.daemon()


@pytest.fixture(scope='module')
def answers(stage, daemon):
    """Nova's results: (shape, cap) -> answer."""
    nova, asked = Nova(stage.config_file('nova')), []

    def will(key, what, *args):
        asked.append(key)
        nova.will(what, *args)

    for name in CASTS:
        will((name, None), 'announce', sent(name)['method'],
             list(sent(name)['args'].values()))
    for name in REQUESTS:
        for cap in (None, *CAPS):
            will((name, cap), 'ask', sent(name)['args'], cap)
    for name in SAID:
        message = sent(name)
        will((name, None), 'say', message['method'], message['version'],
             message['args'])
    will(('ping', None), 'ping', {'any': ['thing', None]})
    will(('backdoor port', None), 'backdoor_port', stage.conf.host)
    return dict(zip(asked, nova.answers(), strict=True))


def captured(name):
    """The result of the captured client, for comparison."""
    name = wire.ANSWERED_AS.get(f'34-{name}', f'34-{name}')
    return captures.load(name)['client_saw']


def bare(value):
    """A result without claims and without fields that no client reads."""
    if isinstance(value, list):
        return list(map(bare, value))
    if not isinstance(value, dict):
        return value
    return {key: bare(part) for key, part in (value | {
        name: None for name in ('allocation_request_version',)
        if name in value}).items()
        if key not in ('nova_object.changes', 'class', 'module')}


def classes(value):
    """Names of the classes of the objects in a result: set."""
    if isinstance(value, list):
        return set().union(*map(classes, value))
    if not isinstance(value, dict):
        return set()
    own = {f'{value["module"]}.{value["class"]}'} if 'class' in value else (
        set())
    return own.union(*map(classes, value.values()))


def picks(result):
    """(host, node) of the picked hosts, for any form of a result."""
    found = []
    for chosen in result:
        if isinstance(chosen, list):
            data = chosen[0]['nova_object.data']
            found.append((data['service_host'], data['nodename']))
        else:
            found.append((chosen['host'], chosen['nodename']))
    return found


@pytest.mark.parametrize('name', [
    name for name in REQUESTS if captured(name)['ok']])
class TestRequest:
    def test_is_answered_in_the_captured_shape(self, answers, name):
        result = answers[name, None]['answer']

        assert wire.shape(bare(result)) == wire.shape(
            bare(captured(name)['result']))

    def test_is_answered_with_objects_of_nova(self, answers, name):
        found = classes(answers[name, None]['answer'])

        assert found <= {
            'nova.objects.selection.Selection',
            'nova.objects.numa.NUMATopologyLimits'}
        assert bool(found) == bool(sent(name)['args']['return_objects'])

    @pytest.mark.parametrize('cap', CAPS)
    def test_gets_the_same_hosts_in_the_form_of_older_clients(
            self, answers, name, cap):
        """A host for each instance that the form can express."""
        old, new = (picks(answers[name, level]['answer'])
                    for level in (cap, None))

        count = len(new) if cap == '4.4' else (
            sent(name)['args']['spec_obj']['nova_object.data'][
                'num_instances'])
        assert len(old) == count
        if (name, cap) not in SAYS_OTHERWISE:
            assert old[:len(new)] == new[:len(old)]


@pytest.mark.parametrize('cap', [None, *CAPS])
@pytest.mark.parametrize('name', [
    name for name in REQUESTS if not captured(name)['ok']])
def test_refusal_is_nova_s_exception_for_all_clients(
        answers, name, cap):
    found = answers[name, cap]

    assert found['classes'] == captured(name)['mro']
    assert found['text'].startswith(captured(name)['str'].partition('\n')[0])
    assert found['reason'] in found['text']


@pytest.mark.parametrize('name', SAID)
def test_older_and_wrong_calls_are_answered_as_captured(answers, name):
    """Or with an exception of Nova that names the wrong field."""
    found, wanted = answers[name, None], captured(name)
    if name in wire.INVALID_INPUT:
        assert found['classes'][1] == 'nova.exception.InvalidInput'
        assert wire.INVALID_INPUT[name] in found['text']
    elif wanted['ok']:
        assert wire.shape(bare(found['answer'])) == wire.shape(
            bare(wanted['result']))
    else:
        assert found['classes'] == wanted['mro']
        assert found['text'].startswith(wanted['str'].partition('\n')[0])


@pytest.mark.parametrize('name', CASTS)
def test_cast_causes_no_error(answers, daemon, name):
    assert answers[name, None] == {'answer': None}
    method = sent(name)['method']
    assert not [line for line in daemon.lines(method) if ' ERROR ' in line]


@pytest.mark.parametrize(('name', 'words'), [
    ('info-update-instance-info', 'Instances of host 34-cn1 changed'),
    ('info-delete-instance-info', 'left host 34-cn1'),
    ('info-sync-instance-info', 'Instances of host 34-cn1 announced')])
def test_cast_about_instances_arrives(answers, daemon, name, words):
    """By fanout, not in sequence with the calls."""
    daemon.wait_for_lines(words)


def test_ping_and_backdoor_port_are_answered(answers):
    assert answers['ping', None] == {'answer': {
        'service': 'scheduler', 'arg': {'any': ['thing', None]}}}
    assert answers['backdoor port', None] == {'answer': None}
