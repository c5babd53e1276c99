"""Plug-ins of tests/data, run on a cloud."""

import contextlib
import pathlib
import sys

from nova_sched import context
from nova_sched import exception
from nova_sched.compat import nova_names
from tests.builders import clouds
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import hosts_of

DATA = pathlib.Path(__file__).parents[1] / 'data'
CALL = context.RequestContext(project_id='p', user_id='u', overwrite=False)


@contextlib.contextmanager
def fresh_nova_names():
    """Make Nova's names importable, with none of them imported: a context."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules)
                if name.partition('.')[0] == 'nova'}
    kept = take()
    nova_names.provide(rules.a_conf())
    yield
    take()
    sys.modules.update(kept)


def asked(cloud, name, spec=None, weigher=False, module='wild_plug_ins'):
    """Names of the hosts that pass a plug-in, best first."""
    paths = [f'{module}.{name}']
    driver = cloud.driver(
        filter_scheduler__weight_classes=paths if weigher else [],
        filter_scheduler__available_filters=[] if weigher else paths,
        filter_scheduler__enabled_filters=[] if weigher else [name],
        scheduler__max_attempts=9)
    try:
        [found] = hosts_of(driver.select_destinations(
            CALL, spec or requests.a_request(), [clouds.a_uuid(7)],
            return_alternates=True))
    except exception.NoValidHost:
        return []
    finally:
        driver.stop()
    return found


def beside(host):
    """A request with a hint that names a host."""
    return requests.a_request(hints={'beside': [host]})
