#!/usr/bin/env bash
# Runs a command beside a RabbitMQ and a MariaDB of its own, which are gone
# when it ends:
#
#   tools/with-services.sh COMMAND [ARGUMENT ...]
#
# The command finds them in NOVA_SCHED_TEST_RABBIT_URL and
# NOVA_SCHED_TEST_MYSQL_URL.  Needs pifpaf on the PATH, and the Debian
# packages rabbitmq-server and mariadb-server.
set -eu

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0));
print(s.getsockname()[1])'
}

if [ "${1:-}" = --inside ]; then
    shift
    export NOVA_SCHED_TEST_RABBIT_URL=$RABBIT_URL
    export NOVA_SCHED_TEST_MYSQL_URL=$MYSQL_URL
    exec "$@"
fi
# What pifpaf itself says of its servers is of no interest unless they fail.
exec pifpaf --env-prefix RABBIT run rabbitmq --port "$(free_port)" -- \
    pifpaf --env-prefix MYSQL run mysql -- "$0" --inside "$@"
