#!/usr/bin/env bash
# Build infra/lambda/Dockerfile without a container engine, and run the function in the image as
# Lambda does: only /tmp can be written, the user has no rights, and events come from a Runtime API
# (the one of the tests). Print sizes and times.
#
#   infra/image/build-without-docker.sh BUNDLE [WORK]
#
# Needs root, Debian's debootstrap, buildah, skopeo and umoci, and a Python (PYTHON, by default that
# of .venv) of the Debian release's version (3.11 for bookworm) with ranklet's extra [dev].
# WORK (default: a temporary folder) keeps the base for the next run. A Debian base with the same
# stages replaces AWS's base image, which needs a registry.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,12p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
bundle=$(realpath "$1")
work=$(realpath -m "${2:-$(mktemp -d)}")
python=${PYTHON:-$root/.venv/bin/python}
suite=${SUITE:-bookworm}
mkdir -p "$work"

export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
builds() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }
step() { printf '\n== %s\n' "$*"; }

for stage in base builder; do
  if [ -e "$work/$stage/.ready" ]; then continue; fi
  step "$stage: $suite with Python"
  packages=python3,ca-certificates
  if [ $stage = builder ]; then packages+=,g++,python3-dev; fi
  rm -rf "${work:?}/$stage"
  debootstrap --variant=minbase --include=$packages "$suite" "$work/$stage" >"$work/debootstrap.log"
  (cd "$work/$stage" && rm -rf var/{cache/apt,lib/apt/lists,log}/* usr/share/{doc,man,locale,info}/* dev/*)
  mkdir -p "$work/$stage/var/task"
  touch "$work/$stage/.ready"
done

step "wheels"
context=$work/lambda
rm -rf "$context"
mkdir -p "$context/context/wheels" "$work/wheels"
cp "$root"/infra/lambda/{Dockerfile,requirements.txt} "$context"
"$python" -m pip download --quiet --no-deps --require-hashes --only-binary :all: --no-binary hnswlib \
  --find-links "$work/wheels" \
  --dest "$work/wheels" --requirement "$root/infra/lambda/requirements.txt"
"$python" -m pip download --quiet --no-deps --dest "$work/wheels" setuptools wheel pybind11  # hnswlib's
cp "$work"/wheels/* "$context/context/wheels"
"$python" -m build --wheel --no-isolation --outdir "$context/context/wheels" "$root" >"$work/build.log"
cp -r "$bundle" "$context/context/bundle"

step "stages"
"$python" -m pip install --quiet --upgrade --target "$work/builder/usr/local/lib/python3.11/dist-packages" pip
for stage in base builder; do
  made=$(builds from scratch)
  builds copy --quiet "$made" "$work/$stage" /
  builds config --entrypoint '["/usr/bin/python3", "-m", "awslambdaric"]' --workingdir /var/task \
    --env PYTHONPATH=/var/task "$made"
  builds commit --quiet "$made" "localhost/$stage"
  builds rm "$made" >/dev/null
done
builds bud --quiet --pull-never --format oci --tag localhost/ranklet-lambda \
  --build-arg BASE=localhost/base --build-arg BUILDER=localhost/builder \
  --build-arg PIP_OPTIONS=--no-index --build-arg COMPILER=true --file "$context/Dockerfile" "$context"

step "image"
rm -rf "$work/image.tar" "$work/layout" "$work/unpacked"
builds push --quiet localhost/ranklet-lambda "oci-archive:$work/image.tar:latest"
skopeo copy --quiet "oci-archive:$work/image.tar:latest" "oci:$work/layout:latest"
umoci unpack --image "$work/layout:latest" "$work/unpacked"
printf 'image, compressed layers: %s MB\n' "$(($(stat --format %s "$work/image.tar") / 1000000))"
"$root/infra/image/package-size.sh" "$work/unpacked/rootfs/var/task"

step "function, read-only, as a user without rights"
cd "$root"
PYTHONPATH=. "$python" infra/image/try_image.py "$work/unpacked"
