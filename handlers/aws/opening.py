"""Open the bundle of a function.

A bundle at a path (in the image, in /tmp, on EFS) is mapped from there. An object
``s3://bucket/key`` is the zip of a bundle. It is downloaded once, and every process maps it from
where it lies then.
"""

import os

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import Check
from ranklet.runtime.errors import InputError
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import shown
from ranklet.runtime.variables import Variable

SCHEME = "s3://"


def open_bundle(where: str | None = None) -> Bundle:
    """Load the bundle at a path or an address.

    An object must have the sha256 of RANKLET_BUNDLE_SHA256, else of its metadata ``sha256``, else
    of an object ``key.sha256``. RANKLET_COLLECTION may have the address of a collection in Milvus
    that is ranked in place of the bundle's own; see `load`.

    Args:
        where: a path, or ``s3://bucket/key``; None for RANKLET_BUNDLE.

    Raises:
        InputError: no path is given, or the address or digest is malformed.
        BundleError: it differs from what was published, or is not a bundle.
        RemoteError: S3 or Milvus does not answer, or the object may not be read.
    """
    where = where or os.environ.get(Variable.BUNDLE) or ""
    if not where:
        raise InputError(f"no bundle: set {Variable.BUNDLE} to a path or to s3://bucket/key")
    collection = os.environ.get(Variable.COLLECTION) or None
    digest = os.environ.get(Variable.BUNDLE_SHA256) or None
    if not where.startswith(SCHEME):
        if digest is not None:
            raise InputError(
                f"{Variable.BUNDLE_SHA256} is compared only with what {SCHEME}bucket/key has, and "
                f"the bundle is {shown(where)!r}; do not set it"
            )
        return load(where, collection=collection)
    # What a download needs takes a twentieth of a start, and most functions load none.
    from ranklet.handlers.aws.bundle_download import checked, fetch

    source = fetch(where, digest and checked(digest, Variable.BUNDLE_SHA256))
    # Without a published sha256 the bundle's own digests show whether the download is complete.
    check: Check = "fast" if source.proven else "full"
    return load(source.path, check=check, collection=collection)
