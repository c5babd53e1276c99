"""ImagePropertiesWeigher: instances of similar images attract each other.

1. The properties of the request's image that count, each with its ratio
   (``_wanted``).
2. The stored properties of the instances on the hosts, of those names only
   (``Instances.image_properties``), read as the typed values that the
   request's are (``stored_image.typed``).
3. A host's value: the sum of the ratios of all properties that its instances
   share with the request's image (``_shared``).
"""

import functools

import numpy as np

from nova_sched.objects import stored_image
from nova_sched.options import settings
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import weights


class ImagePropertiesWeigher(weights.ColumnWeigher):
    """Image properties that instances on a host share with the request.

    Each counts once an instance, by the ratio that image_props_weight_setting
    gives it: 1 without any setting, 0 when others are set. Values are
    compared as text.

    While the configured multiplier is 0 nothing is read and every host has 0;
    a multiplier of an aggregate does not change that.
    """

    multiplier_name = 'image_props_weight_multiplier'
    inputs = 'host', rule_inputs.IMAGES

    def configure(self, conf):
        super().configure(conf)
        ratios, _unreadable = settings.parse_weights(
            conf.filter_scheduler.image_props_weight_setting)
        self.ratios = dict(ratios)

    def column(self, hosts, spec_obj):
        wanted = self._wanted(spec_obj) if self.multiplier else {}
        if not wanted or not len(hosts):
            return np.zeros(len(hosts))
        stored = hosts.instances.image_properties(
            list(dict.fromkeys(hosts.objects('host'))),
            stored_image.names(wanted))
        return hosts.looked_up('host', _shared(stored, wanted))

    def _wanted(self, spec_obj):
        """Return {name: (value, ratio)} of the properties that count."""
        properties = spec_obj.image and spec_obj.image.properties
        if not properties:
            return {}
        wanted = {name: (value, self.ratios.get(name, 0.0)
                         if self.ratios else 1.0)
                  for name, value in properties.flat().items()
                  if value is not None}
        return {name: (value, ratio)
                for name, (value, ratio) in wanted.items() if ratio}


def _shared(stored, wanted):
    """Return {host: sum of ratios} from the stored properties of its
    instances.
    """
    ours = {name: value for name, (value, _ratio) in wanted.items()}

    @functools.cache
    def score(properties):
        theirs = stored_image.typed(dict(properties), ours)
        return sum(wanted[name][1] for name, value in theirs.items()
                   if str(value) == str(ours[name]))

    return {host: sum(map(score, instances))
            for host, instances in stored.items()}
