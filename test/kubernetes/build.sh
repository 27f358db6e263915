#!/usr/bin/env bash
# Builds programs of Kubernetes from Debian's source package, with etcd and kubectl beside them: build.sh CACHE KEY PROGRAM...
# They come to CACHE/kubernetes-<package>-<go>-KEY, renamed into place when whole. Nothing is installed and no list of the machine's apt is
# changed: root is not needed. One builder at a time; who waited finds what the other has built. A line on the output says what is being done.
set -euo pipefail
cache=$1 key=$2
shift 2

# No Debian has the servers in a binary package; bookworm's source package is the newest that has the whole tree with its libraries.
suite=bookworm
version=v1.20.2
# Of the upstream tree. Debian's patches change only what kubectl prints: they are left out, and what unpacks them is not needed.
tree_digest=b83c0780efb182d928dc63d46488a847f161f04e40a94b96bf5247dd671ecdfc
packages=(golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev etcd-server kubernetes-client)

mkdir -p "$cache"
exec 9>"$cache/kubernetes.lock"
if ! flock --nonblock 9; then
  echo 'another run is building Kubernetes: waiting for it'
  flock 9
fi
compgen -G "$cache/kubernetes-*-$key" >/dev/null && exit 0

# Whoever holds the lock is the only builder: what is there was left behind by one that was killed.
rm -rf "$cache"/kubernetes.building.*
work=$(mktemp -d "$cache/kubernetes.building.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# --- sources: from the mirror that the machine's apt has, by lists of our own ---
mkdir -p "$work"/apt/{lists/partial,archives/partial} "$work"/{debs,root,whole/bin}
apt=(apt-get -qq
  -o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt" -o "Dir::Cache::archives=$work/apt/archives"
  -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o "APT::Sandbox::User=$(id -un)")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
trust=$([ -r "$keyring" ] && echo "[signed-by=$keyring]" || true)
# An archive without this suite, or one that Debian's key did not sign, is passed over.
find_sources() {
  local archive
  while read -r archive; do
    printf '%s\n' "deb $trust $archive $suite main" "deb-src $trust $archive $suite main" >"$work/apt/sources.list"
    "${apt[@]}" update 2>>"$work/apt/errors" || continue
    (cd "$work/debs" && "${apt[@]}" source --download-only --tar-only kubernetes 2>>"$work/apt/errors") && return
  done < <(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' | awk '$2 == "main" && !seen[$1]++ {print $1}')
  cat "$work/apt/errors" >&2
  echo "no archive that this machine's apt knows has Debian's source package kubernetes of $suite" >&2
  return 1
}
echo 'fetching the sources of Kubernetes and what builds them (130 MB)'
find_sources
(cd "$work/debs" && "${apt[@]}" download "${packages[@]}")
tree_archive=$(echo "$work"/debs/kubernetes_*.orig.tar.gz)
echo "$tree_digest  $tree_archive" | sha256sum --check --status || {
  echo "$(basename "$tree_archive") is not the tree that this recipe is for: its digest is another one" >&2
  exit 1
}
for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done
version_of() { dpkg-deb --field "$work"/debs/"$1"_*.deb Version; }
folder="$cache/kubernetes-$(version_of kubernetes-client)-$(version_of golang-1.19-go)-$key"

# --- the tree, at its place below GOPATH: its vendored libraries are not those that modules would want ---
export GOROOT="$work/root/usr/lib/go-1.19" GOPATH="$work/go" GOCACHE="$work/cache" GOTMPDIR="$work" GO111MODULE=off CGO_ENABLED=0 GOFLAGS= GOENV=off
export PATH="$GOROOT/bin:$PATH" LC_ALL=C
module=k8s.io/kubernetes
tree="$GOPATH/src/$module"
mkdir -p "$tree"
tar -xzf "$tree_archive" --strip-components=1 -C "$tree"
cd "$tree"
# The vendored reflect2 1.0.1 crashes in programs that Go 1.18 and newer have built, when an object with a map is written as YAML.
rm -rf vendor/github.com/modern-go/reflect2
cp -r "$work/root/usr/share/gocode/src/github.com/modern-go/reflect2" vendor/github.com/modern-go/

# The one generated file that the package lacks: the API's description, of all packages that carry its marker.
echo 'generating the description of the Kubernetes API'
go build -o "$work/openapi-gen" "$module/vendor/k8s.io/kube-openapi/cmd/openapi-gen"
marked=$(grep -RlE '^// *\+k8s:openapi-gen=' --include='*.go' pkg vendor/k8s.io | grep -vE 'vendor/k8s.io/(code-generator|sample-apiserver)/' |
  xargs -n1 dirname | sort -u | sed "s#^#$module/#" | paste -sd,)
"$work/openapi-gen" --input-dirs "$marked" --output-package "$module/pkg/generated/openapi" --output-file-base zz_generated.openapi \
  --go-header-file hack/boilerplate/boilerplate.generatego.txt --report-filename "$work/violations" --output-base "$GOPATH/src"

# Without a version the servers say v0.0.0, and clients complain.
stamp=''
for package in component-base/version client-go/pkg/version; do
  at="$module/vendor/k8s.io/$package"
  stamp+=" -X $at.gitVersion=$version -X $at.gitMajor=1 -X $at.gitMinor=20 -X $at.gitTreeState=clean"
done
for program in "$@"; do
  echo "building $program (minutes)"
  go build -trimpath -ldflags "-s -w$stamp" -o "$work/whole/bin/$program" "$module/cmd/$program"
done
cp "$work/root/usr/bin/"{etcd,kubectl} "$work/whole/bin/"
(cd "$work/whole/bin" && sha256sum -- * >../SHA256SUMS)
mv -T "$work/whole" "$folder"
