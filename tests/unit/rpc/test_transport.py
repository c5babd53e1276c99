"""What a transport cannot be made of."""

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


def test_options_of_the_driver_that_contradict_each_other():
    with pytest.raises(exception.ConfigurationError,
                       match='rpc_conn_pool_size: 1 must be greater'):
        rpc.get_transport(a_conf(rpc_conn_pool_size=1, conn_pool_min_size=5))


@pytest.mark.parametrize('name', ['ssl_ca_file', 'ssl_cert_file',
                                  'ssl_key_file'])
def test_a_file_of_tls_that_cannot_be_read(tmp_path, name):
    """The libraries say that there is no such file, but not which."""
    path = tmp_path / 'no-such.pem'
    with pytest.raises(exception.ConfigurationError) as refused:
        rpc.get_transport(a_conf(ssl=True, **{name: str(path)}))

    assert str(refused.value) == (
        f'[{RABBIT}] {name} = {str(path)!r}: cannot be read: No such file or '
        'directory')

    path.touch()
    rpc.get_transport(a_conf(ssl=True, **{name: str(path)}))


def test_files_of_tls_are_nobodys_where_it_is_off():
    """An operator may leave them in the configuration."""
    rpc.get_transport(a_conf(ssl=False, ssl_ca_file='/no/such.pem'))


class TestQueueManager:
    """Its locks are of the global configuration, which has none."""

    @pytest.fixture(autouse=True)
    def as_before(self):
        yield
        cfg.CONF.clear_default('lock_path', 'oslo_concurrency')

    @pytest.mark.parametrize('used', [True, False])
    def test_locks_where_lock_path_says_if_it_is_used(self, tmp_path, used):
        conf = a_conf(use_queue_manager=used)
        conf.set_override('lock_path', str(tmp_path), 'oslo_concurrency')
        rpc.get_transport(conf)
        found = lockutils.get_lock_path(cfg.CONF)
        assert (found == str(tmp_path)) is used
