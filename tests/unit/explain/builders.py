"""What the tests of explanations have in common."""

from nova_sched.explain import matrix
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import weights
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_conf

FILTERS = ('AvailabilityZoneFilter', 'ComputeFilter', 'RamFilter',
           'DiskFilter', 'CoreFilter')


class FaultyWeigher(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        raise ValueError('broken')


def a_ranker(*filters, weighers=None, **options):
    """The rules: filters by name, by default FILTERS, or filters themselves.

    weighers: Nova's by default.  options: see rules.a_conf.
    """
    conf = a_conf(enabled_filters=[
        name for name in filters or FILTERS if isinstance(name, str)],
        **options)
    loaded = {type(filter_).__name__: filter_
              for filter_ in plugins.load_filters(conf)}
    return plugins.ranker(
        [loaded.get(each, each) if isinstance(each, str) else each
         for each in filters or FILTERS],
        plugins.load_weighers(conf) if weighers is None else weighers)


def a_matrix(*records, ranker=None, offer=None, running=None, asked=(),
             **request):
    """The Matrix of these hosts, as of a_host, and a request.

    offer: of Placement.  running: as of hosts.  asked: keywords of judge.
    """
    snapshot = hosts(*records, running=running).snapshot
    if offer is not None:
        snapshot.offer = offer
    return matrix.judge(snapshot, a_request(**request),
                        ranker or a_ranker(), **dict(asked))


def full(name, **values):
    """A host without free RAM: 1 MB is left, with overcommit."""
    return a_host(name, **{'total_usable_ram_mb': 4096, 'free_ram_mb': 1,
                           'ram_allocation_ratio': 1.0, **values})
