"""IsolatedHostsFilter: reserves hosts for isolated images."""

import numpy as np

from nova_sched.rules import phrases
from nova_sched.scheduler import filters


class IsolatedHostsFilter(filters.ColumnFilter):
    """Isolated hosts for isolated images, other hosts for other images.

    Other images, and instances without an image, may also use isolated hosts,
    unless ``restrict_isolated_hosts_to_isolated_images`` is set.
    """

    code = 'isolation'
    RUN_ON_REBUILD = True
    run_filter_once_per_request = True
    inputs = ('host',)

    def configure(self, conf):
        self.images = frozenset(conf.filter_scheduler.isolated_images)
        self.hosts = tuple(conf.filter_scheduler.isolated_hosts)
        self.restrict = (conf.filter_scheduler
                         .restrict_isolated_hosts_to_isolated_images)

    def _is_isolated(self, spec_obj):
        return (spec_obj.image is not None
                and spec_obj.image.id in self.images)

    def mask(self, hosts, spec_obj):
        isolated = hosts.named('host', self.hosts)
        if self._is_isolated(spec_obj):
            return isolated
        return (~isolated if self.restrict
                else np.ones(len(hosts), dtype=np.bool_))

    def reason(self, hosts, spec_obj):
        image = getattr(spec_obj.image, 'id', None)
        image = f'image {image}' if image else 'no image'
        if self._is_isolated(spec_obj):
            text = f'isolated {image}, {_isolated("host", self.hosts)}'
        else:
            text = (f'{_isolated("host", hosts.objects("host"))}, '
                    f'{_isolated("image", self.images)}, '
                    f'requested is {image}')
        return phrases.Reason(image, text=text)


def _isolated(kind, names):
    """Return a text that lists the isolated hosts, or images."""
    if not len(names):
        return f'no {kind} is isolated'
    return f'isolated {kind}s are {phrases.listed(names)}'
