# DevStack plugin: nova_sched in place of nova's own scheduler.
#
#   enable_plugin nova_sched <URL of the repository>
#
# n-sch stays an enabled service, because DevStack takes that as the sign
# that this host has a scheduler, but its process gives way to nova-sched,
# which reads nova's own configuration file.

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

# Cells and their databases are read from nova's API database; [database] in
# nova's file is cell0's, where a scheduler has its record.
function start_nova_sched {
    stop_process n-sch
    run_process nova-sched \
        "$NOVA_BIN_DIR/nova-sched --config-file $NOVA_CONF"
}

function stop_nova_sched {
    stop_process nova-sched
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
    esac
fi

# Restore xtrace
$_XTRACE_NOVA_SCHED
