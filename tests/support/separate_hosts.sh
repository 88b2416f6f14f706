#!/bin/sh
# Two hosts that see nothing of each other's processes, nodea and nodeb, with network, PID, mount and UTS namespaces of
# their own, joined by a veth pair: FOLDER COMMAND... COMMAND runs beside them; $FOLDER/agent HOST WORDS is its rsh.
# Needs root, iproute2, procps and util-linux.
set -eu
. "$(dirname "$0")/await_running.sh"
folder=$1
shift
inits=
spaces=
trap 'kill -9 $inits 2>/dev/null; for space in $spaces; do ip netns del "$space"; done' EXIT
for host in nodea nodeb; do
    space=ibkit-$host-$$
    ip netns add "$space"
    spaces="$spaces $space"
done
ip link add ve0 netns "ibkit-nodea-$$" type veth peer name ve0 netns "ibkit-nodeb-$$"
number=1
for host in nodea nodeb; do
    space=ibkit-$host-$$
    ip -n "$space" addr add "10.99.0.$number/24" dev ve0
    ip -n "$space" link set lo up
    ip -n "$space" link set ve0 up
    number=2
    ip netns exec "$space" unshare -u -m -p -f --kill-child --mount-proc sh -c "hostname $host; exec sleep 300" \
        </dev/null >/dev/null 2>&1 &
    inits="$inits $!"
    tries=0
    until [ "$(cat "/proc/$(pgrep -P $!)/comm" 2>/dev/null)" = sleep ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    pgrep -P $! > "$folder/$host.pid"
done
await_running $spaces
cat > "$folder/agent" <<END
#!/bin/sh
host=\$1
shift
[ -e "$folder/\$host.pid" ] || { echo "agent: no host \$host" >&2; exit 255; }
exec nsenter -t "\$(cat "$folder/\$host.pid")" -n -u -m -p sh -c "\$*"
END
chmod +x "$folder/agent"
"$@"
