"""Allocations as Placement writes them, and what is made of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class ConsumerAllocations:
    """What a consumer holds.

    allocations: provider uuid -> resource class -> amount.  generation: of
    the consumer, None for a new one and below microversion 1.28.  project_id,
    user_id: of the consumer, None without one.
    """

    allocations: dict
    generation: int | None = None
    project_id: str | None = None
    user_id: str | None = None

    @classmethod
    def of(cls, document):
        """Read Placement's answer; ValueError if it is something else."""
        try:
            return cls(amounts(document['allocations']),
                       *map(document.get, ('consumer_generation',
                                           'project_id', 'user_id')))
        except KeyError as exc:
            raise ValueError('it lists no allocations') from exc

    def merged(self, wanted, adding):
        """Return these allocations and wanted ones, in one dict of that form.

        An instance that moves holds its source and its destination. Where
        only providers are wanted that it holds already, what is there stays;
        adding: or both are added up, as releases up to Rocky do.
        """
        both = {provider: dict(resources)
                for provider, resources in self.allocations.items()}
        adding = adding and wanted.keys() <= both.keys()
        for provider, resources in wanted.items():
            if provider not in both:
                both[provider] = dict(resources)
            elif adding:
                for name, amount in resources.items():
                    both[provider][name] = (
                        both[provider].get(name, 0) + amount)
        return both


def amounts(allocations):
    """Return the amounts in a body: provider -> resource class -> amount.

    allocations: as Placement writes them.
    Raises ValueError where they are something else; an amount is an integer
    above 0.
    """
    try:
        found = {provider: dict(wanted['resources'].items())
                 for provider, wanted in allocations.items()}
    except (KeyError, TypeError, AttributeError) as exc:
        raise ValueError('it lists no allocations') from exc
    for resources in found.values():
        for name, amount in resources.items():
            if type(amount) is not int or amount <= 0:
                raise ValueError(f'{amount!r} is no amount of {name}')
    return found


def body(amounts):
    """Return amounts as Placement wants them in a body."""
    return {provider: {'resources': resources}
            for provider, resources in amounts.items()}
