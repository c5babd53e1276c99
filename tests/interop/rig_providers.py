"""Placement as the compute services of a World would have filled it."""

import functools
import json

from tests.interop import rig_world


def fill(placement, world):
    """Register the hosts of a World, and what their instances hold.

    placement: of placement.py, empty.
    """
    for host in world.hosts:
        aggregates = world.aggregates_of(host)
        placement.provider(
            host.node, host.uuid, world.inventory(host),
            (*rig_world.TRAITS, *host.is_.traits), aggregates)
        for device in host.is_.devices:
            placement.provider(
                f'{host.node}_{device.name}', host.providers[device.name],
                device.inventory, device.traits, aggregates,
                parent=host.providers[device.parent or ''])
    hold(placement, world.held())


def hold(placement, held):
    """Have consumers that are new to Placement hold something.

    held: consumer -> provider -> resource class -> amount.
    """
    for consumer, amounts in held.items():
        if amounts:
            placement.allocate(consumer, amounts, is_new=True)


def forget(placement, consumers):
    """Take all away; nobody knows of these consumers afterwards."""
    for consumer in consumers:
        placement.allocate(consumer, {})


def dump(placement, consumers):
    """What Placement says of each consumer: consumer -> JSON.

    Without the generations of providers, which count whatever happened to
    them since the test began.
    """
    def plain(said):
        for allocation in said['allocations'].values():
            del allocation['generation']
        return said

    return {consumer: plain(placement.consumer(consumer))
            for consumer in consumers}


class Names:
    """Puts names that do not tell equals apart in the place of host names.

    Hosts become the first, second, ... host of their kind that an answer
    mentions.  Those of a kind that the question means one of keep their
    names, unless all of that kind could be chosen: then the question does
    not tell them apart either.  Devices of a host share a name if they have
    the same resource classes and the same of the traits that the question is
    about: in which order Placement offers them is chance.

    question_text: all of a question.  chosen: names of the hosts, all that
    could be chosen.
    """

    def __init__(self, world, question_text, chosen):
        self._text = question_text
        self._parts = world.part_names()
        self._hosts = {text: host for host in world.hosts
                       for text in (host.name, host.node)}
        # How many members of a group are near is a matter of weight.
        weighed = '"soft-' in question_text
        missed = {host.kind for host in world.hosts
                  if weighed or host.name not in chosen}
        self._exact = missed & world.named_in(question_text)
        self._seen = {}

    def of_host(self, host):
        """The name that stands for a Host."""
        if host.kind in self._exact:
            return host.name
        seen = self._seen.setdefault(host.kind, [])
        if host.name not in seen:
            seen.append(host.name)
        return f'{host.kind} {seen.index(host.name) + 1}'

    def of_provider(self, uuid):
        """The name that stands for a provider, unknown ones as they are."""
        if uuid not in self._parts:
            return uuid
        host, name = self._parts[uuid]
        device = next((device for device in host.is_.devices
                       if device.name == name), None)
        offers = [*device.inventory, *(
            trait for trait in device.traits if trait in self._text)
        ] if device else ['itself']
        return f"{self.of_host(host)}: {' '.join(offers)}"

    def of_text(self, text):
        """The name for a host's or node's name, other texts as they are."""
        host = self._hosts.get(text)
        return self.of_host(host) if host else text

    def of_allocations(self, allocations):
        """Sorted (provider's name, resources) of allocations by provider."""
        return sorted(([self.of_provider(uuid), found['resources']]
                       for uuid, found in allocations.items()),
                      key=functools.partial(json.dumps, sort_keys=True))
