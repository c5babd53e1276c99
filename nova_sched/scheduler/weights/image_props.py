"""ImagePropertiesWeigher: prefers hosts with instances of similar images.

1. Get the properties of the request's image, with their ratios
   (``_weighted``).
2. Read the same properties of the instances on the hosts
   (``Instances.image_properties``) and convert them to typed values
   (``stored_image.typed``).
3. Sum the ratios of the properties that a host's instances share with the
   request's image (``_shared``).
"""

import functools

import numpy as np

from nova_sched.objects import stored_image
from nova_sched.options import settings
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import weights


class ImagePropertiesWeigher(weights.ColumnWeigher):
    """Weighs image properties that a host's instances share with the request.

    Each property counts once for each instance, with its ratio from the option
    image_props_weight_setting: 1 if the option is empty, 0 if the option lists
    only other properties. Values are compared as text.

    If the configured multiplier is 0, nothing is read and all hosts have 0,
    even if an aggregate sets another multiplier.
    """

    multiplier_name = 'image_props_weight_multiplier'
    inputs = 'host', rule_inputs.IMAGES

    def configure(self, conf):
        super().configure(conf)
        ratios, _unreadable = settings.parse_weights(
            conf.filter_scheduler.image_props_weight_setting)
        self.ratios = dict(ratios)

    def column(self, hosts, spec_obj):
        weighted = self._weighted(spec_obj) if self.multiplier else {}
        if not weighted or not len(hosts):
            return np.zeros(len(hosts))
        stored = hosts.instances.image_properties(
            list(dict.fromkeys(hosts.objects('host'))),
            stored_image.names(weighted))
        return hosts.looked_up('host', _shared(stored, weighted))

    def _weighted(self, spec_obj):
        """Return the image's properties with ratios: {name: (value, ratio)}.
        """
        properties = spec_obj.image and spec_obj.image.properties
        return {name: (value, ratio) for name, value in (
            properties.flat().items() if properties else ())
                if value is not None and (ratio := self.ratios.get(
                    name, 0.0) if self.ratios else 1.0)}


def _shared(stored, weighted):
    """Return {host: sum of the ratios of shared properties}.

    stored: properties of the instances on each host.
    weighted: properties of the request's image, {name: (value, ratio)}.
    """
    requested = {name: value for name, (value, _ratio) in weighted.items()}

    @functools.cache
    def score(properties):
        typed = stored_image.typed(dict(properties), requested)
        return sum(weighted[name][1] for name, value in typed.items()
                   if str(value) == str(requested[name]))

    return {host: sum(map(score, instances))
            for host, instances in stored.items()}
