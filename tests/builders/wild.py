"""Plug-ins of tests/data, run on a cloud."""

import pathlib

from nova_sched import context
from nova_sched import exception
from tests.builders import clouds
from tests.builders import requests
from tests.builders.drivers import hosts_of

DATA = pathlib.Path(__file__).parents[1] / 'data'
CALL = context.RequestContext(project_id='p', user_id='u', overwrite=False)


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
