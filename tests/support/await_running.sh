# await_running SPACE...: wait until the kernel calls the ve0 of each network namespace usable, up to a second after both
# ends are up (net/core/link_watch.c). UCX leaves out what is not.
await_running() {
    for space in "$@"; do
        tries=0
        until ip -n "$space" -o link show ve0 | grep -q ' state UP '; do
            tries=$((tries + 1))
            [ $tries -lt 200 ] || exit 1
            sleep 0.05
        done
    done
}
