"""The mirror is filled and kept up to date."""

import dataclasses
import logging

import pytest

from nova_sched import exception
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.adapter import Response
from nova_sched.placement.mirror import upkeep as mirror_upkeep
from nova_sched.placement.mirror.providers import Providers
from nova_sched.placement.mirror.reader import UnusableProvider
from nova_sched.placement.mirror.shared_responses import SharedResponses
from nova_sched.placement.mirror.upkeep import Upkeep
from tests.unit.placement.mirror.test_providers import GOLD
from tests.unit.placement.mirror.test_providers import a_provider
from tests.unit.placement.mirror.test_providers import a_query
from tests.unit.placement.mirror.test_providers import fitting

#: Seconds for each query, and for a listing of candidates.
TOOK, LISTING_TOOK = 0.01, 0.3
ONE = {'VCPU': 1}


class World:
    """A Placement behind the interface of ProviderReader, with its clock.

    asked: the queries in order: (name, uuid or None).
    """

    config_fingerprint = 'a placement'

    def __init__(self, *providers):
        self.now, self.asked, self.down = 0.0, [], False
        self.broken, self.odd = set(), set()
        self.there = {each.uuid: each for each in providers}

    def clock(self):
        return self.now

    def _asked(self, what, uuid=None):
        self.now += LISTING_TOOK if what == 'summaries' else TOOK
        self.asked.append((what, uuid))
        if self.down:
            raise exception.PlacementError('It is away.')
        if uuid in self.broken:
            raise RequestFailed('It does not tell.', Response(500, 'no'))
        if uuid in self.odd:
            raise UnusableProvider('It makes no sense.')

    def change(self, uuid, rises=1, **fields):
        before = self.there.get(uuid) or a_provider(uuid)
        self.there[uuid] = dataclasses.replace(
            before, generation=before.generation + rises, **fields)

    def use(self, uuid, amount, rises=1):
        """Set the usage; ``rises`` is 0 for a DELETE."""
        self.change(uuid, rises, amounts={
            'VCPU': self.there[uuid].amounts['VCPU']._replace(used=amount)})

    # The interface of ProviderReader.

    def generations(self):
        self._asked('generations')
        return {each.uuid: (each.generation, each.parent)
                for each in self.there.values()}

    def summaries(self, generations):
        self._asked('summaries')
        return [dataclasses.replace(
            each, generation=generations[each.uuid][0], aggregates=None,
            limited=False) for each in self.there.values()
            if each.amounts['VCPU'].used < each.amounts['VCPU'].capacity]

    def provider(self, uuid, parent, timeout=None):
        self._asked('provider', uuid)
        return self.there.get(uuid)

    def used(self, uuid):
        self._asked('used', uuid)
        found = self.there.get(uuid)
        return found and {'VCPU': found.amounts['VCPU'].used}

    def members(self, aggregate):
        self._asked('members', aggregate)
        return [each.uuid for each in self.there.values()
                if aggregate in (each.aggregates or ())]


class Scene:
    """A mirror of a World and its Upkeep."""

    def __init__(self, *providers, world=None, answers=None):
        self.world, self.freed = world or World(*providers), []
        self.mirror = Providers(self.world.clock)
        self.upkeep = Upkeep(self.world, self.mirror, self._freed, answers,
                             self.world.clock)

    def _freed(self):
        freed, self.freed = self.freed, []
        return freed

    def fill(self):
        """Complete the mirror, without pending reads."""
        self.upkeep.step()
        self.go_on(60)
        del self.world.asked[:]
        return self

    def go_on(self, seconds):
        """Perform all steps that are due in a number of seconds."""
        end = self.world.now + seconds
        while self.world.now < end:
            self.world.now += max(0.001, self.upkeep.step())

    def asked(self, what):
        return [uuid for name, uuid in self.world.asked if name == what]

    def fitting(self, *args, **kwargs):
        return fitting(self.mirror, a_query(*args, **kwargs))


def scenes(*providers):
    """The mirrors of two workers with shared answers."""
    world = World(*(providers or map(a_provider, 'abc')))
    answers = SharedResponses(mirror_upkeep.QUERIES, 2, world.clock)
    return [Scene(world=world, answers=answers) for _ in range(2)]


def a_scene(*providers):
    return Scene(*(providers or map(a_provider, 'abc'))).fill()


class TestFilling:
    def test_full_providers_are_read_one_by_one(self, caplog, monkeypatch):
        caplog.set_level(logging.INFO)
        monkeypatch.setattr(mirror_upkeep, 'PROGRESS', TOOK)
        scene = Scene(a_provider('a'), a_provider('b', vcpus=2, used=2))
        assert scene.upkeep.age is None

        scene.upkeep.step()

        assert '0 of 2 resource providers of Placement are' in caplog.text
        assert '2 resource providers were copied from' in caplog.text

        assert scene.world.asked == [
            ('generations', None), ('summaries', None), ('provider', 'b')]
        assert scene.upkeep.age == pytest.approx(2 * TOOK + LISTING_TOOK)
        assert scene.fitting() == 'a'
        scene.world.use('b', 1, rises=1)
        scene.go_on(10)
        assert scene.fitting() == 'ab'

    def test_units_are_read_in_background(self):
        scene = Scene(a_provider('a', max_unit=2), a_provider('b'))
        scene.upkeep.step()
        assert scene.fitting(3) == 'ab'

        scene.go_on(10)

        assert scene.fitting(3) == 'b'

    def test_filling_is_retried(self, caplog):
        scene = Scene(a_provider('a'))
        scene.world.down = True
        scene.go_on(20)
        assert scene.upkeep.age is None
        assert len([record for record in caplog.records if
                    record.levelno == logging.WARNING]) == 1

        scene.world.down = False
        scene.go_on(10)

        assert scene.upkeep.age is not None

    def test_unreadable_provider_does_not_block_filling(self):
        scene = Scene(a_provider('a'), a_provider('b', used=4),
                      a_provider('c', used=4))
        scene.world.broken = {'b'}

        scene.upkeep.step()

        assert scene.upkeep.age is not None
        assert scene.asked('provider') == ['b', 'c']


class TestUpdates:
    def test_changed_providers_are_read(self):
        scene = a_scene()
        scene.world.use('b', 4)
        scene.world.change('c', rises=-1, traits=frozenset([GOLD]))

        scene.go_on(5)

        assert scene.asked('provider') == ['b', 'c']
        assert scene.fitting() == 'ac'
        assert scene.fitting(required={GOLD}) == 'c'

    def test_new_and_deleted_providers_are_noticed(self):
        scene = a_scene()
        scene.upkeep.read_aggregate('one')
        del scene.world.there['a']
        scene.world.change('d', aggregates=frozenset(['one']))

        scene.go_on(10)

        assert scene.fitting() == 'bcd'
        assert scene.fitting(forbidden_aggregates={'one'}) == 'bc'

    def test_freed_provider_gets_its_usages_read(self):
        """A DELETE does not raise the generation."""
        scene = a_scene(a_provider('a'), a_provider('b', used=4))
        scene.world.use('b', 1, rises=0)
        scene.freed = ['b', 'not in Placement']

        scene.go_on(3)

        assert scene.asked('used') == ['b']
        assert scene.asked('provider') == []
        assert scene.fitting(3) == 'ab'

    def test_usage_reads_are_limited_per_second(self):
        scene = a_scene(*(a_provider(f'{number:02}', used=1)
                          for number in range(30)))
        scene.freed = [f'{number:02}' for number in range(30)]

        scene.go_on(3)

        asked = scene.asked('used')
        assert asked == sorted(asked)
        assert 2 * mirror_upkeep.SINGLE < len(asked) <= (
            4 * mirror_upkeep.SINGLE)

    def test_listing_is_repeated_periodically(self):
        """This covers all missed changes."""
        scene = a_scene(a_provider('a'), a_provider('b', used=3))
        scene.world.use('b', 0, rises=0)

        scene.go_on(2 * LISTING_TOOK / mirror_upkeep.ALL)

        assert scene.fitting(4) == 'ab'

    def test_many_changes_cause_earlier_listing(self):
        scene = a_scene(*(a_provider(f'{number:03}') for number in range(100)))
        for uuid in list(scene.world.there):
            scene.world.use(uuid, 4)
        scene.world.use('007', 2)

        scene.go_on(2 * LISTING_TOOK / mirror_upkeep.ALL_SOON)

        assert scene.asked('summaries') == [None]
        assert scene.fitting(2) != ''

    def test_aggregates_are_read_in_turn(self):
        scene = a_scene()
        for aggregate in ('one', 'two'):
            scene.upkeep.read_aggregate(aggregate)
        scene.world.change('a', rises=0, aggregates=frozenset(['two']))

        scene.go_on(3 * TOOK / mirror_upkeep.MEMBERS)

        assert scene.asked('members')[2:4] == ['one', 'two']
        assert scene.fitting(member_of=[['two']]) == 'a'

    def test_doubted_provider_is_read_at_once(self):
        scene = a_scene()
        scene.mirror.invalidate(['b'])
        assert scene.fitting() == 'ac'

        scene.upkeep.read_soon(['b'])
        scene.upkeep.step()

        assert scene.asked('provider') == ['b']
        assert scene.fitting() == 'abc'

    def test_read_during_claim_is_repeated(self):
        scene = a_scene()
        scene.mirror.assume({'b': ONE})
        scene.world.change('b', traits=frozenset([GOLD]))
        scene.go_on(5)
        assert scene.fitting(required={GOLD}) == ''

        scene.mirror.claimed({'b': ONE})
        scene.world.use('b', 1)
        scene.go_on(10)

        assert scene.fitting(3, required={GOLD}) == 'b'
        assert scene.fitting(4) == 'ac'

    def test_unreadable_provider_is_set_aside(self, caplog):
        scene = a_scene(*(a_provider(uuid, used=4) for uuid in 'abc'))
        scene.world.broken = {'a'}
        for uuid in 'abc':
            scene.world.change(uuid)

        scene.go_on(mirror_upkeep.AGAIN / 2)

        assert scene.asked('provider') == ['a', 'b', 'c']
        assert len(scene.asked('generations')) > mirror_upkeep.AGAIN / 4
        [line] = caplog.messages
        assert 'of resource provider a' in line
        scene.go_on(mirror_upkeep.AGAIN)
        assert scene.asked('provider') == ['a', 'b', 'c', 'a']
        assert len(caplog.messages) == 1

    def test_invalid_provider_is_not_offered(self):
        scene = a_scene()
        scene.world.odd = {'a'}
        scene.world.change('a')
        scene.go_on(10)
        assert scene.fitting() == 'bc'

        scene.world.odd = set()
        scene.go_on(mirror_upkeep.AGAIN)

        assert scene.fitting() == 'abc'

    def test_unreadable_units_do_not_block_others(self):
        scene = Scene(*map(a_provider, 'abc'))
        scene.world.broken = {'a'}
        scene.upkeep.step()

        scene.go_on(10)

        assert scene.asked('provider') == ['a', 'b', 'c']
        assert scene.mirror.without_limits() == ['a']

    def test_unreadable_usages_do_not_block_others(self):
        scene = a_scene(*(a_provider(uuid, used=4) for uuid in 'abc'))
        scene.world.broken, scene.freed = {'a'}, ['a', 'b']
        scene.world.use('b', 0, rises=0)

        scene.go_on(10)

        assert scene.asked('used') == ['a', 'b']
        assert scene.fitting() == 'b'

    def test_few_unreadable_providers_are_logged(self, caplog):
        uuids = [f'{number:02}' for number in range(30)]
        scene = a_scene(*(a_provider(uuid, used=4) for uuid in uuids))
        scene.world.broken = set(uuids)
        for uuid in uuids:
            scene.world.change(uuid)

        scene.go_on(40)

        assert len(caplog.messages) == mirror_upkeep.MOST_LOGGED

    def test_unreadable_aggregate_is_forgotten(self, caplog):
        """Requests that name it read its members themselves."""
        scene = a_scene()
        for aggregate in ('one', 'two'):
            scene.upkeep.read_aggregate(aggregate)
        scene.world.broken = {'one'}

        scene.go_on(3 * TOOK / mirror_upkeep.MEMBERS)

        assert scene.asked('members').count('one') == 2
        assert scene.asked('members').count('two') >= 3
        assert caplog.messages == []

    @pytest.mark.parametrize('took, listing_took', [(0.03, 0.3), (0.3, 3)])
    def test_queries_take_little_time(self, took, listing_took, monkeypatch):
        monkeypatch.setattr(f'{__name__}.TOOK', took)
        monkeypatch.setattr(f'{__name__}.LISTING_TOOK', listing_took)
        scene = a_scene()
        scene.upkeep.read_aggregate('one')
        del scene.world.asked[:]

        scene.go_on(10000)

        listings = len(scene.asked('summaries'))
        busy = listings * listing_took + (
            len(scene.world.asked) - listings) * took
        assert 0.015 < busy / 10000 <= 0.021


class TestExpected:
    """Providers that are created after their compute nodes."""

    def test_expected_provider_is_read_when_created(self):
        scene = a_scene()
        assert not scene.upkeep.read_node('d')
        scene.world.change('d', amounts={})
        assert not scene.upkeep.read_node('d')
        scene.world.change('d', amounts=a_provider('d').amounts)

        assert scene.upkeep.read_node('d')
        assert scene.fitting() == 'abcd'

    def test_new_provider_survives_older_shared_listing(self):
        """The listing is shared with another worker."""
        one, other = scenes()
        _take_turns(one, other, 10)
        one.go_on(5)
        one.world.change('d')
        assert other.upkeep.read_node('d')

        other.upkeep.step()

        assert other.fitting() == 'abcd'
        del one.world.there['d']
        _take_turns(one, other, 10)
        assert other.fitting() == 'abc'

    def test_expected_provider_is_read_repeatedly(self):
        scene = a_scene()
        scene.upkeep.expect(['d'])
        scene.go_on(2.5)
        # Simulate a long interval between listings.
        scene.world.change('d')
        scene.upkeep._changes.at += 60

        scene.go_on(2)

        assert scene.fitting() == 'abcd'
        assert scene.asked('provider') == ['d'] * 3
        scene.go_on(60)
        assert scene.asked('provider') == ['d'] * 3

    def test_missing_provider_is_given_up(self):
        scene = a_scene()
        scene.upkeep.expect(['d'])

        scene.go_on(300)

        assert scene.asked('provider') == ['d'] * len(mirror_upkeep.EXPECTED)

    def test_expected_providers_are_limited(self):
        scene = a_scene()
        uuids = [f'{number:02}' for number in range(100)]
        scene.upkeep.expect(uuids[:15])
        scene.upkeep.expect(uuids[15:])

        scene.go_on(300)

        assert set(scene.asked('provider')) == set(
            uuids[:mirror_upkeep.MOST_EXPECTED])


class TestAge:
    def test_age_is_time_since_last_comparison(self):
        scene = a_scene()
        scene.go_on(100)

        assert scene.upkeep.age <= TOOK / mirror_upkeep.CHANGES + 1

    def test_outdated_mirror_has_no_age(self, caplog):
        scene = a_scene()
        scene.world.down = True
        scene.go_on(mirror_upkeep.TOO_OLD + 10)
        assert scene.upkeep.age is None

        scene.world.down = False
        with caplog.at_level(logging.INFO):
            scene.go_on(mirror_upkeep.PAUSE + 1)

        assert scene.upkeep.age is not None
        assert 'updated again' in caplog.text

    def test_internal_error_is_logged(self, caplog):
        scene = a_scene()
        scene.freed = None

        scene.go_on(10)

        assert 'failed' in caplog.text
        assert scene.upkeep.age is not None


def test_stop_ends_thread():
    scene = a_scene()
    scene.upkeep.start()

    scene.upkeep.stop()

    scene.upkeep.thread.join(10)
    assert not scene.upkeep.thread.is_alive()


class TestSharedResponses:
    def test_workers_share_listing(self):
        one, other = scenes()
        one.upkeep.step()
        other.upkeep.step()

        assert one.world.asked == [('generations', None), ('summaries', None)]
        assert one.fitting() == other.fitting() == 'abc'

    def test_workers_share_reads_of_full_providers(self):
        one, other = scenes(a_provider('a'), a_provider('b', vcpus=2, used=2))
        one.upkeep.step()
        other.upkeep.step()

        assert one.asked('provider') == ['b']
        one.world.use('b', 1)
        for scene in (one, other):
            scene.go_on(10)
            assert scene.fitting() == 'ab'

    def test_workers_query_changes_as_often_as_one(self):
        one, other = scenes()
        _take_turns(one, other, 100)
        del one.world.asked[:]
        _take_turns(one, other, 100)

        alone = a_scene()
        alone.go_on(100)
        for name in ('generations', 'summaries'):
            assert len(one.asked(name)) <= len(alone.asked(name)) + 1

    def test_claim_after_shared_query_is_kept(self):
        """The shared answer does not include it."""
        one, other = scenes(a_provider('a', vcpus=2))
        _take_turns(one, other, 10)
        one.world.now += 5
        one.upkeep.step()
        claimed = {'a': {'VCPU': 2}}
        other.mirror.assume(claimed)
        other.mirror.claimed(claimed)
        one.world.use('a', 2)

        other.upkeep.step()

        assert other.fitting() == ''


def _take_turns(one, other, seconds):
    """Perform the steps of both workers that are due."""
    world = one.world
    end = world.now + seconds
    while world.now < end:
        world.now += max(0.001, min(one.upkeep.step(), other.upkeep.step()))
