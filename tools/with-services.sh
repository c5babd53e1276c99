#!/usr/bin/env bash
# Runs a command beside a RabbitMQ, a MariaDB and a PostgreSQL of its own,
# which are gone when it ends:
#
#   tools/with-services.sh COMMAND [ARGUMENT ...]
#
# The command finds them in NOVA_SCHED_TEST_RABBIT_URL,
# NOVA_SCHED_TEST_MYSQL_URL and NOVA_SCHED_TEST_POSTGRESQL_URL.  Needs pifpaf
# on the PATH, and the Debian packages rabbitmq-server, mariadb-server and
# postgresql.
set -eu

free_port() {
    python3 "$(dirname "$0")/../tests/functional/ports.py"
}

if [ "${1:-}" = --inside ]; then
    shift
    export NOVA_SCHED_TEST_RABBIT_URL=$RABBIT_URL
    export NOVA_SCHED_TEST_MYSQL_URL=$MYSQL_URL
    export NOVA_SCHED_TEST_POSTGRESQL_URL=postgresql://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/$PGDATABASE
    # Half a second less for each program that imports eventlet: nobody here
    # resolves names by it.
    export EVENTLET_NO_GREENDNS=yes
    exec "$@"
fi
# PostgreSQL refuses to run as root, which pifpaf's would have to; Debian's
# own tool has it run as another user then.  What pifpaf itself says of its
# servers is of no interest unless they fail.
export PGPORT
PGPORT=$(free_port)
exec pg_virtualenv -t -c '--encoding=UTF8 --locale=C.UTF-8' \
    -o log_min_messages=panic -o log_checkpoints=off \
    pifpaf --env-prefix RABBIT run rabbitmq --port "$(free_port)" \
    --nodename "nova-sched-$$" -- \
    pifpaf --env-prefix MYSQL run mysql -- "$0" --inside "$@"
