#!/usr/bin/env bash
# Runs a command beside a RabbitMQ, a MariaDB and a PostgreSQL of its own,
# which are gone when it ends:
#
#   tools/with-services.sh COMMAND [ARGUMENT ...]
#
# The command finds them in NOVA_SCHED_TEST_RABBIT_URL,
# NOVA_SCHED_TEST_MYSQL_URL and NOVA_SCHED_TEST_POSTGRESQL_URL.  RabbitMQ has
# virtual hosts with the names of pytest-xdist's workers, of which there may
# be 16.  Needs pifpaf on the PATH, and the Debian packages rabbitmq-server,
# mariadb-server and postgresql.
set -eu

# A virtual host for each worker of pytest-xdist, where pifpaf's user may do
# anything.  Debian's rabbitmqctl refuses all users but two; what it calls
# takes its cookie from HOME.
add_virtual_hosts() {
    local file=$RABBIT_DATA/definitions.json
    python3 - "$file" <<'END'
import json
import sys

names = [f'gw{number}' for number in range(16)]
with open(sys.argv[1], 'w') as file:
    json.dump({
        'vhosts': [{'name': name} for name in names],
        'permissions': [
            {'vhost': name, 'user': 'pifpaf',
             'configure': '.*', 'read': '.*', 'write': '.*'}
            for name in names]}, file)
END
    HOME=$RABBIT_DATA PATH=/usr/lib/rabbitmq/bin:$PATH rabbitmqctl -q \
        -n "$RABBIT_RABBITMQ_NODENAME" import_definitions "$file"
}

# By default there are 151 connections, which tests that run beside each other
# come to.  Nothing here has to outlive a loss of power.
set_up_mariadb() {
    mariadb -u root -S "$MYSQL_MYSQL_SOCKET" -e '
        SET GLOBAL max_connections = 1000;
        SET GLOBAL innodb_flush_log_at_trx_commit = 0'
}

if [ "${1:-}" = --inside ]; then
    shift
    add_virtual_hosts
    set_up_mariadb
    export NOVA_SCHED_TEST_RABBIT_URL=$RABBIT_URL
    export NOVA_SCHED_TEST_MYSQL_URL=$MYSQL_URL
    export NOVA_SCHED_TEST_POSTGRESQL_URL=postgresql://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/$PGDATABASE
    # Half a second less for each program that imports eventlet: nobody here
    # resolves names by it.
    export EVENTLET_NO_GREENDNS=yes
    exec "$@"
fi
# Not every PATH has what the servers are in.
export PATH=$PATH:/usr/sbin
missing=()
command -v rabbitmq-server >/dev/null || missing+=(rabbitmq-server)
command -v mariadbd >/dev/null || missing+=(mariadb-server)
command -v pg_virtualenv >/dev/null || missing+=(postgresql)
if [ ${#missing[@]} != 0 ]; then
    echo "Install these packages, as with apt-get, and run this again:" \
        "${missing[*]}. Without them, tox -e embedded runs the tests that" \
        'need no server' >&2
    exit 1
fi
# PostgreSQL refuses to run as root, which pifpaf's would have to; Debian's
# own tool has it run as another user then.  What pifpaf itself says of its
# servers is of no interest unless they fail.
export PGPORT
ports=$(python3 "$(dirname "$0")/../tests/functional/ports.py" 2)
read -r PGPORT rabbit_port <<< "$ports"
exec pg_virtualenv -t -c '--encoding=UTF8 --locale=C.UTF-8' \
    -o log_min_messages=panic -o log_checkpoints=off \
    -o synchronous_commit=off -o full_page_writes=off \
    pifpaf --env-prefix RABBIT run rabbitmq --port "$rabbit_port" \
    --nodename "nova-sched-$$" -- \
    pifpaf --env-prefix MYSQL run mysql -- "$0" --inside "$@"
