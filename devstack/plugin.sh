# DevStack plugin: nova_sched in place of nova's own scheduler.
#
#   enable_plugin nova_sched <URL of the repository>
#
# n-sch stays an enabled service, because DevStack takes that as the sign
# that this host has a scheduler, but its process gives way to nova-sched,
# which reads nova's own configuration file.

# What nova's file does not say, or not for this service.
NOVA_SCHED_CONF=${NOVA_SCHED_CONF:-$NOVA_CONF_DIR/nova-sched-devstack.conf}

# Save trace setting
_XTRACE_NOVA_SCHED=$(set +o | grep xtrace)
set +o xtrace

function install_nova_sched {
    setup_develop $NOVA_SCHED_DIR
}

function configure_nova_sched {
    iniset $NOVA_CONF scheduler driver $NOVA_SCHED_DRIVER
    if [[ -n "$NOVA_SCHED_WORKERS" ]]; then
        iniset $NOVA_CONF scheduler workers $NOVA_SCHED_WORKERS
    fi
}

function start_nova_sched {
    local options="--config-file $NOVA_CONF"
    local cell_conf
    cell_conf=$(conductor_conf 1)
    if [[ -r $cell_conf ]]; then
        # With cells, [database] in nova's file is cell0, which has no
        # compute nodes; those are in the first cell's.
        iniset $NOVA_SCHED_CONF database connection \
            "$(iniget $cell_conf database connection)"
        options="$options --config-file $NOVA_SCHED_CONF"
    fi
    stop_process n-sch
    run_process nova-sched "$NOVA_BIN_DIR/nova-sched $options"
}

function stop_nova_sched {
    stop_process nova-sched
}

function cleanup_nova_sched {
    sudo rm -f $NOVA_SCHED_CONF
}

if is_service_enabled nova-sched; then
    case "$1 ${2:-}" in
        "stack install")
            echo_summary "Installing nova_sched"
            install_nova_sched
            ;;
        "stack post-config")
            echo_summary "Configuring nova_sched"
            configure_nova_sched
            ;;
        "stack extra")
            echo_summary "Starting nova_sched in place of n-sch"
            start_nova_sched
            ;;
        "unstack "*)
            stop_nova_sched
            ;;
        "clean "*)
            cleanup_nova_sched
            ;;
    esac
fi

# Restore xtrace
$_XTRACE_NOVA_SCHED
