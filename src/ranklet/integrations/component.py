"""What the components share whose fields pydantic keeps, in LangChain and LlamaIndex."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SkipValidation, field_serializer

from ranklet.integrations.search import absolute_path, check, plain_pipeline
from ranklet.runtime.pipelines.pipeline import PipelineLike
from ranklet.runtime.storage.address import BundleLike

_NAMED = ("k", "pipeline", "explain", "budget_ms")


class Component(BaseModel):
    """A component that holds a bundle and keywords of `Bundle.rank`.

    What pydantic would raise is no RankletError, so `check` does the checking. This class is the
    last base of a component, because pydantic takes the configuration of the last one.

    Raises:
        RankletError: as `check`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")
    retrieves: ClassVar[bool] = False  # or ranks the documents of others

    bundle: SkipValidation[BundleLike]
    k: SkipValidation[int | None] = None
    pipeline: SkipValidation[Any] = None  # a `PipelineLike`, whose classes pydantic need not know
    explain: SkipValidation[bool] = False
    budget_ms: SkipValidation[float | None] = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        check(self.bundle, self.options, retrieves=self.retrieves)

    @property
    def options(self) -> dict[str, Any]:
        """The keywords of `Bundle.rank`."""
        return {name: getattr(self, name) for name in _NAMED} | (self.model_extra or {})

    @field_serializer("bundle")
    def _dump_bundle(self, bundle: BundleLike) -> str:
        return absolute_path(bundle)

    @field_serializer("pipeline")
    def _dump_pipeline(self, pipeline: PipelineLike) -> Any:
        return plain_pipeline(pipeline)
