"""The comparison of schedulers finds differences and accepts equal hosts."""

from tests.interop import generate
from tests.interop import rig_answers
from tests.interop import rig_world

WORLD = rig_world.World('a seed')
CELLS = {name: {'id': number, 'uuid': f'cell {number}', 'name': name,
                'disabled': False} for number, name in enumerate(WORLD.cells)}


def a_question(text=''):
    """A Question, which names a text."""
    return generate.Question('plain', {'hints': text}, ['an instance'], {})


def outcome(*hosts, question=None, amount=1, device=''):
    """The Outcome of an instance: the picked host, then alternates."""
    hosts = [WORLD.host(name) for name in hosts]
    return rig_answers.outcome(
        WORLD, question or a_question(), None, [[selection(
            host, amount, device) for host in hosts]],
        {'an instance': {'allocations': {hosts[0].providers[device]: {
            'resources': {'VCPU': amount}}}}})


def selection(host, amount, device):
    provider = host.providers[device]
    return {'nova_object.name': 'Selection', 'nova_object.data': {
        'service_host': host.name, 'nodename': host.node,
        'compute_node_uuid': host.uuid, 'cell_uuid': host.is_.cell,
        'limits': None, 'allocation_request': (
            f'{{"allocations": {{"{provider}": {{"resources": '
            f'{{"VCPU": {amount}}}}}}}, "mappings": {{"": ["{provider}"]}}}}'
        )}}


def same(one, other):
    """Whether two Outcomes have no difference, in both directions."""
    found, again = one.differences(other), other.differences(one)
    assert bool(found) == bool(again)
    return not found


def test_hosts_of_a_kind_are_equal():
    assert same(outcome('ssd-a', 'ssd-b', 'gpu-a'),
                outcome('ssd-b', 'ssd-a', 'gpu-b'))


def test_hosts_of_different_kinds_differ():
    found = outcome('ssd-a').differences(outcome('gpu-a'))

    assert 'picks[0].service_host: "ssd 1" != "gpu 1"' in found


def test_named_host_differs_from_the_other_of_its_kind():
    """If only one of them can be picked."""
    question = a_question('ssd-a')

    assert not same(outcome('ssd-a', question=question),
                    outcome('ssd-b', question=question))
    assert same(outcome('ssd-a', 'ssd-b', question=question),
                outcome('ssd-b', 'ssd-a', question=question))


def test_order_of_hosts_counts_for_a_soft_group():
    question = a_question('ssd-a "soft-affinity"')

    assert not same(outcome('ssd-a', 'ssd-b', question=question),
                    outcome('ssd-b', 'ssd-a', question=question))


def test_amounts_and_alternates_count():
    assert not same(outcome('ssd-a'), outcome('ssd-a', amount=2))
    assert not same(outcome('ssd-a'), outcome('ssd-a', 'ssd-b'))


def test_devices_are_equal_unless_the_question_has_their_traits():
    small, large = (outcome('gpu-a', device=name)
                    for name in ('gpu0', 'gpu1'))
    assert same(small, large)

    question = a_question('trait1:CUSTOM_GPU_LARGE')
    small, large = (outcome('gpu-a', device=name, question=question)
                    for name in ('gpu0', 'gpu1'))
    assert not same(small, large)


def test_seed_gives_the_same_200_different_questions():
    asked, again = ([question.text for question in generate.questions(
        WORLD, CELLS, 'a seed', each=7)] for _ in range(2))

    assert asked == again
    assert len(set(asked)) == len(asked) >= 200
