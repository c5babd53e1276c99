"""Errors in the options of a transport."""

from oslo_concurrency import lockutils
from oslo_config import cfg
import pytest

from nova_sched import exception
from nova_sched import rpc
from tests.builders import rules

RABBIT = 'oslo_messaging_rabbit'


def a_conf(**rabbit):
    return rules.a_conf(DEFAULT__transport_url='rabbit://', **{
        f'{RABBIT}__{name}': value for name, value in rabbit.items()})


def test_contradicting_options_are_a_configuration_error():
    with pytest.raises(exception.ConfigurationError,
                       match='rpc_conn_pool_size: 1 must be greater'):
        rpc.get_transport(a_conf(rpc_conn_pool_size=1, conn_pool_min_size=5))


@pytest.mark.parametrize('name', ['ssl_ca_file', 'ssl_cert_file',
                                  'ssl_key_file'])
def test_unreadable_tls_file_is_named(tmp_path, name):
    """The errors of the libraries do not name it."""
    path = tmp_path / 'no-such.pem'
    with pytest.raises(exception.ConfigurationError) as refused:
        rpc.get_transport(a_conf(ssl=True, **{name: str(path)}))

    assert str(refused.value) == (
        f'[{RABBIT}] {name} = {str(path)!r}: cannot be read: No such file or '
        'directory')

    path.touch()
    rpc.get_transport(a_conf(ssl=True, **{name: str(path)}))


def test_tls_files_are_ignored_without_tls():
    rpc.get_transport(a_conf(ssl=False, ssl_ca_file='/no/such.pem'))


class TestQueueManager:
    """It reads lock_path from the global configuration only."""

    @pytest.fixture(autouse=True)
    def as_before(self):
        yield
        cfg.CONF.clear_default('lock_path', 'oslo_concurrency')

    @pytest.mark.parametrize('used', [True, False])
    def test_locks_in_lock_path_if_it_is_used(self, tmp_path, used):
        conf = a_conf(use_queue_manager=used)
        conf.set_override('lock_path', str(tmp_path), 'oslo_concurrency')
        rpc.get_transport(conf)
        found = lockutils.get_lock_path(cfg.CONF)
        assert (found == str(tmp_path)) is used
