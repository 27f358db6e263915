#!/usr/bin/env bash
# Makes a machine a worker of a Kubernetes cluster: worker.sh install|join|leave. Muster sends it over SSH and runs it with bash; each may be repeated, also after one that was cut off.
#
# What it is given, as variables of the shell:
#   MUSTER_CLUSTER, MUSTER_NODE   the names of the cluster and of the Node
#   MUSTER_PROVIDER_ID            what the Node has to say of itself; Muster takes no other for it
#   MUSTER_JOIN_ENDPOINT          host:port of the control plane
#   MUSTER_CA_PIN                 sha256:… of the key of the cluster's authority
#   MUSTER_KUBERNETES_VERSION     of the cluster, such as v1.33.2
#   MUSTER_TOKEN                  the bootstrap token, for join alone. It is not exported, and goes into no argument: lists of processes show both
#
# install changes nothing where kubeadm, kubelet and a container runtime are there: an image with them makes joins fast. What a worker needs beyond that (a mirror, a proxy, labels) is for a copy of
# this file: muster clusters set NAME --worker-script FILE.
set -euo pipefail

action=${1:-}
kubernetes_dir=${KUBERNETES_DIR:-/etc/kubernetes}
run_dir=${MUSTER_RUN_DIR:-/run}
kubelet_config=$kubernetes_dir/kubelet.conf
# What this machine has joined as. A kubelet.conf without it is of a join that was cut off.
joined_file=$kubernetes_dir/muster-worker

say() { printf '%s\n' "$*"; }
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# A pass that was cut off may live for some seconds still: two at once would undo each other.
take_turn() {
  mkdir -p "$run_dir"
  exec 9>"$run_dir/muster-worker.lock"
  flock --timeout 60 9 || fail 'Another pass of this script holds the machine for a minute.'
}

# --- install -------------------------------------------------------------------------------------------------------------------------------------------------------------------

install_worker() {
  if has kubeadm && has kubelet && { has containerd || has crio; }; then
    say 'kubeadm, kubelet and a container runtime are installed'
  else
    has apt-get || fail 'This script installs packages on Debian and Ubuntu alone. Use an image with kubeadm, kubelet and a container runtime, or a script of your own.'
    [ "$(id -u)" = 0 ] || fail 'Installing packages needs root: let Muster log in as root, or set --ssh-sudo.'
    install_packages
    prepare_kernel
  fi
}

install_packages() {
  local minor=${MUSTER_KUBERNETES_VERSION#v}
  minor=$(printf '%s' "$minor" | cut -d. -f1,2)
  [ -n "$minor" ] || fail 'The version of the cluster is not known, so that no packages can be chosen. Use an image with them, or a script of your own.'
  export DEBIAN_FRONTEND=noninteractive
  local repository="https://pkgs.k8s.io/core:/stable:/v$minor/deb"
  apt_get update
  apt_get install --yes --no-install-recommends ca-certificates curl gpg containerd
  mkdir -p /etc/apt/keyrings
  curl --fail --silent --show-error --location --retry 3 "$repository/Release.key" | gpg --batch --yes --dearmor --output /etc/apt/keyrings/kubernetes.gpg
  printf 'deb [signed-by=/etc/apt/keyrings/kubernetes.gpg] %s/ /\n' "$repository" >/etc/apt/sources.list.d/kubernetes.list
  apt_get update
  apt_get install --yes --no-install-recommends kubeadm kubelet
  # Another version comes when the cluster is upgraded.
  apt-mark hold kubeadm kubelet
  if [ ! -s /etc/containerd/config.toml ] || ! grep -q 'SystemdCgroup = true' /etc/containerd/config.toml; then
    mkdir -p /etc/containerd
    containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/' >/etc/containerd/config.toml
    systemctl restart containerd
  fi
}

apt_get() {
  apt-get --quiet -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

# On a machine that has the packages from an image, whoever made that has seen to it.
prepare_kernel() {
  printf 'overlay\nbr_netfilter\n' >/etc/modules-load.d/muster-worker.conf
  printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\n' >/etc/sysctl.d/90-muster-worker.conf
  modprobe --all overlay br_netfilter
  sysctl --quiet --system >/dev/null
  swapoff --all
  systemctl --quiet enable kubelet
}

# --- join ----------------------------------------------------------------------------------------------------------------------------------------------------------------------

join_cluster() {
  : "${MUSTER_NODE:?}" "${MUSTER_PROVIDER_ID:?}" "${MUSTER_JOIN_ENDPOINT:?}" "${MUSTER_CA_PIN:?}" "${MUSTER_TOKEN:?}"
  local identity="$MUSTER_CLUSTER $MUSTER_NODE $MUSTER_PROVIDER_ID $MUSTER_CA_PIN"
  if [ -s "$kubelet_config" ] && [ -s "$joined_file" ] && [ "$(cat "$joined_file")" = "$identity" ]; then
    # Its Node may have been deleted since: a kubelet registers when it starts.
    say "This machine has joined as $MUSTER_NODE already: its kubelet is started again"
    restart_kubelet
    return
  fi
  if [ -e "$kubelet_config" ] || [ -e "$joined_file" ]; then
    say 'What was left of another join, or of one that was cut off, is removed'
    reset_machine
  fi
  local folder
  folder=$(mktemp -d "$run_dir/muster-join.XXXXXX")
  # The token is in it.
  # shellcheck disable=SC2064 # which folder it is is known now
  trap "rm -rf '$folder'" EXIT
  (umask 077 && compose_join_configuration >"$folder/join.yaml")
  # Words of an operator, such as --ignore-preflight-errors=…
  # shellcheck disable=SC2086
  kubeadm join --config "$folder/join.yaml" ${KUBEADM_JOIN_FLAGS:-} 9>&-
  mkdir -p "$kubernetes_dir"
  printf '%s\n' "$identity" >"$joined_file"
  say "This machine has joined as $MUSTER_NODE"
}

# Values are quoted as YAML does: each of them is one of Muster's.
compose_join_configuration() {
  local api arguments
  api=$(join_api)
  if [ "$api" = v1beta4 ]; then
    arguments="
    - name: provider-id
      value: '$MUSTER_PROVIDER_ID'"
  else
    arguments="
      provider-id: '$MUSTER_PROVIDER_ID'"
  fi
  cat <<CONFIGURATION
apiVersion: kubeadm.k8s.io/$api
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: '$MUSTER_JOIN_ENDPOINT'
    token: '$MUSTER_TOKEN'
    caCertHashes: ['$MUSTER_CA_PIN']
nodeRegistration:
  name: '$MUSTER_NODE'
  kubeletExtraArgs:$arguments
CONFIGURATION
}

# The form that this kubeadm reads.
join_api() {
  local minor
  minor=$(kubeadm version --output short | cut -d. -f2)
  if [ "$minor" -ge 31 ]; then
    echo v1beta4
  elif [ "$minor" -ge 22 ]; then
    echo v1beta3
  else
    echo v1beta2
  fi
}

restart_kubelet() {
  if has systemctl && [ -d /run/systemd/system ]; then
    systemctl restart kubelet 9>&-
  elif has "${KUBELET_RESTART:-}"; then
    "$KUBELET_RESTART" 9>&-
  else
    say 'There is no systemd here: whoever starts the kubelet has to start it again'
  fi
}

# --- leave ---------------------------------------------------------------------------------------------------------------------------------------------------------------------

reset_machine() {
  kubeadm reset --force 9>&-
  rm -f "$joined_file"
}

leave_cluster() {
  if has kubeadm; then
    reset_machine
    say 'This machine has left its cluster'
  else
    say 'There is no kubeadm here: this machine is in no cluster'
  fi
}

take_turn
case $action in
  install) install_worker ;;
  join) join_cluster ;;
  leave) leave_cluster ;;
  *) fail "worker.sh install|join|leave, and not \"$action\"" ;;
esac
