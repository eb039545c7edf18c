#!/usr/bin/env bash
# Print the unzipped size of an installed runtime package, part by part. Lambda allows 250 MB (of
# 2^20 bytes) for a zip and its layers, and 10 GB for an image.
#
#   infra/image/package-size.sh FOLDER
set -euo pipefail

[ $# -eq 1 ] || { sed -n '2,5p' "$0"; exit 2; }
cd "$1"
du --apparent-size --block-size=1 --max-depth=1 . | sort -rn | awk '
  $2 == "." { total = $1; next }
  $1 >= 1000000 { printf "%8.1f MB  %s\n", $1 / 1e6, substr($2, 3); shown += $1 }
  END { printf "%8.1f MB  all else\n%8.1f MB  unzipped in all\n", (total - shown) / 1e6, total / 1e6 }'
