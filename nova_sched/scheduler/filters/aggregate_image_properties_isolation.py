"""AggregateImagePropertiesIsolation: reserves aggregates for images."""

import functools
import re

from oslo_log import log as logging

from nova_sched.rules import aggregates as aggregate_values
from nova_sched.rules import phrases
from nova_sched.scheduler import filters

LOG = logging.getLogger(__name__)

#: Pattern of image property names.
_PROPERTY = re.compile(r'(hw|img|os)_\w|traits_required$')


class AggregateImagePropertiesIsolation(filters.ColumnFilter):
    """Hosts with aggregate metadata that match the image's properties.

    If the metadata have a key that is a property of the image, the property
    as text must be one of the comma-separated values of the key.  A property
    that the image lacks, or that is 0, false or empty, always matches.

    With ``[filter_scheduler] aggregate_image_properties_isolation_namespace``,
    only keys count that begin with the namespace and the separator.
    """

    code = 'aggregate_image'
    logs_rejected = True
    RUN_ON_REBUILD = True
    run_filter_once_per_request = True
    inputs = ('aggregates',)

    def configure(self, conf):
        filter_scheduler = conf.filter_scheduler
        namespace = (
            filter_scheduler.aggregate_image_properties_isolation_namespace)
        separator = (
            filter_scheduler.aggregate_image_properties_isolation_separator)
        self.prefix = f'{namespace}{separator}' if namespace else ''
        if namespace:
            LOG.warning(
                'AggregateImagePropertiesIsolation considers only aggregate '
                "metadata keys that begin with '%s'; it rejects no host, "
                'unless image properties begin with it, too. Nova has '
                'deprecated aggregate_image_properties_isolation_namespace.',
                self.prefix)

    def mask(self, hosts, spec_obj):
        properties = spec_obj.image_properties.flat()
        passes = hosts.evaluate('aggregates', lambda aggregates: (
            self._differing(aggregates, properties) is None))
        for state in filters.rejected(LOG, hosts, passes):
            key, _, accepted = self._differing(
                tuple(state.aggregates), properties)
            LOG.debug('%(host)s fails image aggregate properties '
                      'requirements. Property %(key)s does not match '
                      '%(accepted)s.',
                      {'host': state, 'key': key,
                       'accepted': sorted(accepted)})
        return passes

    def reason(self, hosts, spec_obj):
        properties = spec_obj.image_properties.flat()
        unmet = phrases.unmet(hosts, 'aggregates', lambda aggregates: (
            self._differing(aggregates, properties)))
        return phrases.Reason(
            'image has ' + phrases.some(
                _worded(key, str(value))
                for key, value in sorted(properties.items()) if value),
            text='; '.join(f'image has {_worded(key, text)}, aggregates take '
                           f'{phrases.listed(accepted)}'
                           for (key, text), accepted in unmet.items()))

    def _differing(self, aggregates, properties):
        """Return the first property that does not match, or None.

        properties: properties of the image: {name: value}.
        Returns name, value as text, and frozenset of accepted texts.
        """
        for key in _unusual(tuple(
                aggregate_values.keys(aggregates, self.prefix))):
            if properties.get(key) is None:
                _warn_of_key(key)
        for key in sorted(properties):
            value = properties[key]
            accepted = aggregate_values.split_values(aggregates, key)
            if (value and accepted and key.startswith(self.prefix)
                    and str(value) not in accepted):
                return key, str(value), accepted
        return None


def _worded(key, text):
    return f'{key}={phrases.shortened(text)}'


@functools.lru_cache(maxsize=4096)
def _unusual(keys):
    """Return the keys of a tuple that cannot be image properties: list."""
    return [key for key in keys if not _PROPERTY.match(key)]


@functools.lru_cache(maxsize=1024)
def _warn_of_key(key):
    LOG.warning('Hosts are in an aggregate that has a metadata key '
                "'%s' that is not present in the image metadata.", key)
