"""Placement's providers and allocations of a World."""

import functools
import json

from tests.interop import rig_world


def fill(placement, world):
    """Create the providers of a World, and its instances' allocations.

    placement: an empty one of placement.py.
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
    """Create allocations of new consumers.

    held: consumer -> provider -> resource class -> amount.
    """
    for consumer, amounts in held.items():
        if amounts:
            placement.allocate(consumer, amounts, is_new=True)


def forget(placement, consumers):
    """Delete all allocations of consumers."""
    for consumer in consumers:
        placement.allocate(consumer, {})


def dump(placement, consumers):
    """Placement's answers about consumers: consumer -> JSON.

    Without the generations of providers, which other requests change, too.
    """
    def plain(answer):
        for allocation in answer['allocations'].values():
            del allocation['generation']
        return answer

    return {consumer: plain(placement.consumer(consumer))
            for consumer in consumers}


class Names:
    """Replaces host names by names that equal hosts share.

    Hosts become the first, second, ... host of their kind in an answer.  If a
    question names a host of a kind, hosts of that kind keep their names,
    unless all of them could be picked.  Devices of a host share a name if
    they have the same resource classes and the same traits of the question:
    Placement offers them in random order.

    question_text: of a question.  chosen: names of all hosts that could be
    picked.
    """

    def __init__(self, world, question_text, chosen):
        self._text = question_text
        self._parts = world.part_names()
        self._hosts = {text: host for host in world.hosts
                       for text in (host.name, host.node)}
        # In soft groups the number of near members is a weight.
        weighed = '"soft-' in question_text
        missed = {host.kind for host in world.hosts
                  if weighed or host.name not in chosen}
        self._exact = missed & world.named_in(question_text)
        self._seen = {}

    def of_host(self, host):
        """The name of a Host in answers."""
        if host.kind in self._exact:
            return host.name
        seen = self._seen.setdefault(host.kind, [])
        if host.name not in seen:
            seen.append(host.name)
        return f'{host.kind} {seen.index(host.name) + 1}'

    def of_provider(self, uuid):
        """The name of a provider; an unknown uuid is returned unchanged."""
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
        """The name of a host or node; another text is returned unchanged."""
        host = self._hosts.get(text)
        return self.of_host(host) if host else text

    def of_allocations(self, allocations):
        """Sorted (provider's name, resources) of allocations by provider."""
        return sorted(([self.of_provider(uuid), found['resources']]
                       for uuid, found in allocations.items()),
                      key=functools.partial(json.dumps, sort_keys=True))
