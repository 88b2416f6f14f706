#!/bin/sh
# Second half of the guest's start: two SoftRoCE devices on a virtual Ethernet pair, then the job, then the end.

mount -t tmpfs run /run
mkdir -p /run/lock /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
while read -r folder; do
    mount -t hostfs none "$folder" -o "$folder"
done <"$JOB/writable"

give_up() {
    echo "$1" >"$JOB/out/trouble"
    echo o >/proc/sysrq-trigger
    sleep 60
}

hostname rxe-guest
ulimit -l unlimited
stty -F /dev/tty1 raw
ip link set lo up

if [ "$DEVICES" = 2 ]; then
    # Both ends live in one network namespace: SoftRoCE's UDP socket exists only in the first one. accept_local lets
    # rxe0 and rxe1 reach each other by their IPv4 addresses, too. Fixed addresses give each boot the same GUIDs.
    ip link add ve0 address 02:00:0a:4d:00:01 type veth peer name ve1 address 02:00:0a:4d:00:02
    echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
    for end in 0 1; do
        echo 0 >"/proc/sys/net/ipv6/conf/ve$end/accept_dad"
        ip address add "10.77.0.$((end + 1))/24" dev "ve$end"
        ip link set "ve$end" up
    done
    for end in 0 1; do
        rdma link add "rxe$end" type rxe netdev "ve$end" || give_up "rdma link add rxe$end failed"
    done
    [ -e /dev/infiniband/uverbs1 ] || give_up "no /dev/infiniband/uverbs1 appeared"
fi

setsid -w /bin/sh "$JOB/job.sh" </dev/null >/dev/tty1 2>&1
echo $? >"$JOB/out/status"
sync
sleep 0.1
echo o >/proc/sysrq-trigger
sleep 60
