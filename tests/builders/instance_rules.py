"""Rules that depend on instances of hosts, and requests with an effect."""

import dataclasses

from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests

#: The existing instance, which may be on a host or not.
OTHER = clouds.a_uuid(77)
NODES = {host: clouds.a_uuid(number) for number, host in enumerate('ab', 1)}
#: Flavor ids of existing and of requested instances.
THEIRS, OURS = 9, 5


class LonelyFilter(filters.BaseHostFilter):
    """A plug-in that iterates over a host's instances."""

    def host_passes(self, host_state, spec_obj):
        return all(instance.uuid == uuid and uuid != OTHER for uuid, instance
                   in host_state.instances.items())


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule about instances of hosts, and a request on which it has effect.

    joins: whether it sends an instance to the host of another instance, or to
        another host.
    request: keywords of a_request.  alone: the picked host while the other
        instance is on no host; None for a refusal.
    placed: whether it counts instances that no host reports yet.
    """

    joins: bool
    request: dict = dataclasses.field(default_factory=dict)
    options: dict = dataclasses.field(default_factory=dict)
    alone: str | None = 'a'
    placed: bool = True


def a_group(policy, **kw):
    return {'group': requests.a_group(policy, members=[OTHER], **kw)}


def in_group(policy, version='1.11'):
    """A group without hosts, which the scheduler looks up.

    version: of the group, which depends on the caller's release.
    """
    group = requests.a_group(policy, members=[OTHER])
    group.hosts, group.wire_version = None, version
    return {'group': group}


def by(name):
    """Options that enable one filter."""
    return {'enabled_filters': [name]}


def weighing(name, **options):
    """Options that enable one weigher."""
    return {'enabled_filters': ['AllHostsFilter'], 'weight_classes': [
        f'nova.scheduler.weights.{name}'], **options}


RULES = {
    'SameHostFilter': Rule(
        True, {'hints': {'same_host': [OTHER]}}, by('SameHostFilter'),
        alone=None),
    'DifferentHostFilter': Rule(
        False, {'hints': {'different_host': [OTHER]}},
        by('DifferentHostFilter')),
    'ServerGroupAffinityFilter': Rule(
        True, in_group('affinity'), by('ServerGroupAffinityFilter')),
    'ServerGroupAntiAffinityFilter': Rule(
        False, a_group('anti-affinity'), by('ServerGroupAntiAffinityFilter')),
    'ServerGroupAntiAffinityFilter, of before Rocky': Rule(
        False, in_group('anti-affinity', '1.10'),
        by('ServerGroupAntiAffinityFilter')),
    'TypeAffinityFilter': Rule(False, {}, by('TypeAffinityFilter')),
    'a plug-in': Rule(False, {}, by('LonelyFilter') | {
        'available_filters': [f'{__name__}.LonelyFilter']}),
    'ServerGroupSoftAffinityWeigher': Rule(
        True, a_group('soft-affinity'),
        weighing('affinity.ServerGroupSoftAffinityWeigher')),
    'ServerGroupSoftAntiAffinityWeigher': Rule(
        False, a_group('soft-anti-affinity'),
        weighing('affinity.ServerGroupSoftAntiAffinityWeigher')),
    'ImagePropertiesWeigher': Rule(
        True, {'image_properties': {'os_distro': 'debian'}},
        weighing('image_props.ImagePropertiesWeigher',
                 image_props_weight_multiplier=1.0), placed=False),
}


def load(cloud):
    """Load the hosts a and b into a CloudDatabase."""
    cloud.load_nodes(*(clouds.a_compute_node(host, uuid=uuid)
                       for host, uuid in NODES.items()))
    return cloud


def one_that_sends_to_b(rule):
    """The host of the other instance with which a request gets b."""
    return 'b' if rule.joins else 'a'


def ask_for_other(driver, rule, host, offer=None):
    """Place the other instance on a host that does not report it yet."""
    wanted = {name: value for name, value in rule.request.items()
              if name == 'group'}
    drivers.select(driver, requests.a_request(
        instance_uuid=OTHER, flavor=requests.a_flavor(id=THEIRS),
        force_hosts=[host], **wanted), [OTHER],
        **({'offer': offer} if offer else {}))
