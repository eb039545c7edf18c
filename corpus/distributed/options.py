"""Options that say where a command computes."""

from dataclasses import dataclass

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, integer, number, one_of, text
from ranklet.runtime.storage.address import BundleLike

ENGINES = ("local", "ray")


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Checked):
    """Whether this machine computes alone, or the nodes of a cluster do."""

    GROUP = "several machines"

    engine: str = one_of("local", ENGINES, "what computes: local, this process, or ray, a cluster")
    address: str = text(
        "", "HOST:PORT of Ray's head node, or auto; RAY_ADDRESS by default, or else Ray starts here"
    )
    num_actors: int | None = integer(
        None, "processes on the cluster; by default all its processors but one", 1
    )
    gpus_per_actor: float | None = number(
        None, "GPUs of each of them, such as 1 or 0.5; by default models run on processors", 0
    )

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        given = [
            flag
            for flag, is_given in (
                ("--address", bool(self.address)),
                ("--num-actors", self.num_actors is not None),
                ("--gpus-per-actor", self.gpus_per_actor is not None),
            )
            if is_given
        ]
        if given and not self.on_ray:
            raise InputError(
                f"{given[0]} has no effect on this machine alone; leave it out, or pass "
                "--engine ray (engine='ray')"
            )

    @property
    def on_ray(self) -> bool:
        """Whether Ray's cluster computes."""
        return self.engine == "ray"

    @property
    def device(self) -> str:
        """Where models run: ``auto`` on this machine; all nodes of a cluster use the same."""
        if not self.on_ray:
            return "auto"
        return "cuda" if self.gpus_per_actor else "cpu"

    def opened(self, bundle: BundleLike) -> BundleFiles:
        """Open a bundle after a comparison of all digests, for the variants that will run.

        Raises:
            BundleError: it cannot be read.
        """
        return BundleFiles(bundle, check="full", device=self.device, strict=self.on_ray)


LOCAL = EngineOptions()
