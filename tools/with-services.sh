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

# A port for RabbitMQ that is free now.  It takes a second one 20,000 above,
# which must be a port number too; and below 30,000 no outgoing connection
# gets in the way.
rabbit_port() {
    python3 - <<'END'
import random, socket
while True:
    port = random.randint(10000, 29999)
    with socket.socket() as one, socket.socket() as other:
        try:
            one.bind(('127.0.0.1', port))
            other.bind(('127.0.0.1', port + 20000))
        except OSError:
            continue
        print(port)
        break
END
}

if [ "${1:-}" = --inside ]; then
    shift
    export NOVA_SCHED_TEST_RABBIT_URL=$RABBIT_URL
    export NOVA_SCHED_TEST_MYSQL_URL=$MYSQL_URL
    exec "$@"
fi
# What pifpaf itself says of its servers is of no interest unless they fail.
exec pifpaf --env-prefix RABBIT run rabbitmq --port "$(rabbit_port)" \
    --nodename "nova-sched-$$" -- \
    pifpaf --env-prefix MYSQL run mysql -- "$0" --inside "$@"
