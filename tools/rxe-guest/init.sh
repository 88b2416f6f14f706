#!/bin/sh
# First process of the guest. The root folder is the host's own, read-only; what is written lands in memory on top.
# JOB (a folder of guest.py) comes on the kernel's command line.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

layer=$JOB/layer
mount -t tmpfs layer "$layer"
mkdir "$layer/changes" "$layer/work" "$layer/root"
mount -t overlay -o "lowerdir=/,upperdir=$layer/changes,workdir=$layer/work" root "$layer/root"
mount -t proc proc "$layer/root/proc"
mount -t sysfs sys "$layer/root/sys"
mount -t devtmpfs dev "$layer/root/dev"
exec chroot "$layer/root" /bin/sh "${0%/*}/inside.sh"
