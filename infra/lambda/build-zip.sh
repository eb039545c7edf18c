#!/usr/bin/env bash
# Build a zip for AWS's runtime of Python, without a container, and print its sizes.
#
#   infra/lambda/build-zip.sh words|table|hybrid [BUNDLE]
#
# `words` serves bundles whose queries no network reads, also by a table of BERT's word pieces;
# `table` those with a table of other tokens; `hybrid` all others but those of HNSW. With BUNDLE the
# zip also holds the bundle, as /var/task/bundle; otherwise RANKLET_BUNDLE is s3://… or a layer's.
# The zip is build/lambda-FORM.zip, and its handler ranklet.handlers.aws_lambda.handler. AWS's runtime
# has awslambdaric and boto3 itself. PYTHON makes
# the zip; RUNTIME (3.13) and MACHINE (x86_64 or aarch64) say where it runs.
set -euo pipefail

usage() { sed -n '2,13p' "$0" | sed 's/^# \{0,1\}//'; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
runtime=${RUNTIME:-3.13}
machine=${MACHINE:-x86_64}
case ${1:-} in
  words) packages="numpy snowballstemmer" ;;
  table) packages="numpy snowballstemmer tokenizers" ;;
  hybrid) packages="numpy snowballstemmer onnxruntime tokenizers" ;;
  *) usage ;;
esac
work=$root/build/lambda-$1
site=$work/site
zip=$root/build/lambda-$1.zip
rm -rf "$work" "$zip"
mkdir -p "$site"

# Of requirements.txt, the packages of this zip with their hashes.
awk -v wanted=" $packages " '
  /^[a-z]/ { split($1, name, "=="); kept = index(wanted, " " name[1] " ") }
  kept' "$root/infra/lambda/requirements.txt" >"$work/requirements.txt"
platforms=()
for tag in manylinux_2_28 manylinux_2_27 manylinux2014 manylinux_2_17; do
  platforms+=(--platform "${tag}_$machine")
done
"$python" -m pip install --quiet --no-deps --only-binary :all: --require-hashes --target "$site" \
  "${platforms[@]}" --python-version "$runtime" --requirement "$work/requirements.txt"
rm -rf "${site:?}/bin"
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$work" "$root"
"$python" -m pip install --quiet --no-deps --no-index --target "$site" "$work"/ranklet-*.whl

# What serving never imports.
rm -rf "${site:?}/bin"
find "$site" -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} +
rm -rf "${site:?}"/ranklet/{commands,corpus,export,integrations,training}
rm -rf "$site"/numpy/f2py "$site"/numpy/random "$site"/numpy/_core/{_simd,_*_tests}.*.so
find "$site" -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.h' -o -name '*.a' \) -delete
if [ -d "$site/onnxruntime" ]; then
  find "$site/onnxruntime" -mindepth 1 -maxdepth 1 -type d ! -name capi ! -name backend -exec rm -rf {} +
fi
if [ $# -gt 1 ]; then cp -r "$2" "$site/bundle"; fi

(cd "$site" && "$python" -m zipfile -c "$zip" ./*)
"$root/infra/image/package-size.sh" "$site"
unzipped=$(du --apparent-size --block-size=1 --summarize "$site" | cut -f1)
zipped=$(stat --format=%s "$zip")
verdict() { # BYTES MEBIBYTES: whether a size is within one of Lambda's limits
  awk -v size="$1" -v most="$2" 'BEGIN {
    printf "%.1f MiB, %s the limit of %d MiB", size / 2^20, size <= most * 2^20 ? "within" : "PAST", most }'
}
echo "unzipped  $(verdict "$unzipped" 250)"
echo "zipped    $(verdict "$zipped" 50) of a direct upload; a larger zip is uploaded through S3"
echo "$zip"
[ "$unzipped" -le $((250 << 20)) ]
