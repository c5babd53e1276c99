"""Files of log_config_append, and what a daemon writes by them."""

import pytest

from tests.builders import logging_files
from tests.functional import processes

pytestmark = pytest.mark.real


@pytest.fixture
def serve(stage):
    """Function of the loggers of a file: a daemon that has answered."""
    stage.cloud(4)
    with processes.supervisor_socket(stage.directory) as (address, received):

        def serve(**loggers):
            path = logging_files.a_file(stage.directory, **loggers)
            daemon = stage.start(environ={'NOTIFY_SOCKET': address},
                                 DEFAULT__log_config_append=path)
            processes.until(
                lambda: any('READY=1' in text for text in received), 'ready')
            assert stage.client().ask()
            return daemon

        yield serve


def test_one_that_nova_s_loggers_are_set_up_by_has_the_lines(serve):
    """As deployment tools write it: the root logger's lines go nowhere."""
    daemon = serve(nova='stdout')

    daemon.wait_until_said('INFO nova.observe.log_line ')
    assert daemon.said('nova-sched: warning: ') == []


def test_one_that_leads_nowhere_is_told_of_at_the_start(serve):
    daemon = serve(nova_sched='null')

    assert len(daemon.text.splitlines()) == 1
    assert daemon.said('nova-sched: warning: [DEFAULT] log_config_append')
