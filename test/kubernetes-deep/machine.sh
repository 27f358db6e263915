#!/usr/bin/env bash
# The machine of a real worker: machine.sh FOLDER NAME CGROUP, in mount, network, PID and UTS namespaces of its own. Its disk is a tmpfs over the disk of this
# machine, which stays as it is; it has sshd, containerd, and in the place of systemd a loop that starts the kubelet as soon as kubeadm has configured it.
# FOLDER has `share` (sockets by which it is reached), `tools` (Debian's packages, unpacked), `kube` (kubeadm, kubelet) and `images.tar`.
set -euo pipefail
folder=$1 name=$2 cgroup=$3
root=$folder/disk/root

mount --make-rprivate /
mkdir -p "$folder/disk"
mount -t tmpfs -o size=2g tmpfs "$folder/disk"
mkdir -p "$folder"/disk/{upper,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$folder/disk/upper,workdir=$folder/disk/work" overlay "$root"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root"/{share,tools,kube,old} "$root"/run/sshd "$root"/var/lib/{containerd,kubelet} "$root"/etc/{kubernetes,containerd,cni/net.d} "$root/etc/muster-ssh" "$root"/var/log/{pods,containers}
for one in share tools kube; do mount --bind "$(readlink -f "$folder/$one")" "$root/$one"; done
cp "$folder/images.tar" "$root/images.tar"
cp "$folder"/ssh/* "$root/etc/muster-ssh/"
mount -t tmpfs -o size=1g tmpfs "$root/var/lib/containerd"
mount -t tmpfs -o size=256m tmpfs "$root/var/lib/kubelet"
mount --make-shared "$root/var/lib/kubelet"
cd "$root"
pivot_root . old
umount --lazy /old

hostname "$name"
echo "127.0.0.1 localhost $name" >/etc/hosts
echo 'nameserver 127.0.0.1' >/run/resolv.conf
ip link set lo up
# Nothing is at its other end: a kubelet wants an address and a default route.
ip link add eth0 type veth peer name nowhere
ip link set nowhere up
ip address add 10.88.0.2/24 dev eth0
ip link set eth0 up
ip route add default via 10.88.0.1
echo 1 >/proc/sys/net/ipv4/ip_forward

export PATH=/kube:/tools/usr/sbin:/tools/usr/bin:/tools/bin:/usr/sbin:/usr/bin:/sbin:/bin
cat >/etc/containerd/config.toml <<'CONFIGURATION'
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "muster.test/pause:1"
  # A root without CAP_SYS_RESOURCE may not protect a pod from the OOM killer.
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/tools/usr/lib/cni"
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
CONFIGURATION
cat >/etc/cni/net.d/10-ptp.conf <<'CONFIGURATION'
{"cniVersion": "0.4.0", "name": "pods", "type": "ptp", "ipam": {"type": "host-local", "subnet": "10.89.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}}
CONFIGURATION
containerd >/run/containerd.log 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.2; done
ctr --namespace k8s.io images import /images.tar

"$MUSTER_NODE_PROGRAM" "$MUSTER_RELAY" "tcp:$MUSTER_API_PORT=unix:/share/api" "unix:/share/ssh-$name=tcp:22" >/run/relay.log 2>&1 &
/usr/sbin/sshd -D -e -f /etc/muster-ssh/config >/run/sshd.log 2>&1 &

echo ready
# As the unit that comes with kubeadm does.
while true; do
  if [ -s /var/lib/kubelet/config.yaml ] && [ -s /var/lib/kubelet/kubeadm-flags.env ]; then
    # shellcheck source=/dev/null
    . /var/lib/kubelet/kubeadm-flags.env
    # shellcheck disable=SC2086
    kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml \
      --cgroup-root="$cgroup" ${KUBELET_KUBEADM_ARGS:-} >>/run/kubelet.log 2>&1 &
    echo $! >/run/kubelet.pid
    wait $! || true
  fi
  sleep 0.5
done
