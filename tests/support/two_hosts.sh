#!/bin/sh
# Two network namespaces with a host name each, nodea and nodeb, joined by a veth pair: FOLDER COMMAND...
# COMMAND runs on nodea; $FOLDER/agent is an rsh that starts Open MPI's daemon on nodeb. Needs root and iproute2.
set -eu
. "$(dirname "$0")/await_running.sh"
folder=$1
shift
a=ibkit-a-$$
b=ibkit-b-$$
trap 'ip netns del "$a" 2>/dev/null; ip netns del "$b" 2>/dev/null' EXIT
ip netns add "$a"
ip netns add "$b"
ip link add ve0 netns "$a" type veth peer name ve0 netns "$b"
ip -n "$a" addr add 10.98.0.1/24 dev ve0
ip -n "$b" addr add 10.98.0.2/24 dev ve0
for space in "$a" "$b"; do ip -n "$space" link set lo up; done
ip -n "$a" link set ve0 up
ip -n "$b" link set ve0 up
await_running "$a" "$b"
printf '127.0.0.1 localhost\n10.98.0.1 nodea\n10.98.0.2 nodeb\n' > "$folder/hosts"
cat > "$folder/agent" <<END
#!/bin/sh
shift
exec ip netns exec $b unshare -u -m sh -c "hostname nodeb; mount --bind $folder/hosts /etc/hosts; \$*"
END
chmod +x "$folder/agent"
ip netns exec "$a" unshare -u -m sh -c "hostname nodea; mount --bind $folder/hosts /etc/hosts; exec \"\$@\"" sh "$@"
