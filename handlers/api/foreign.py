"""Fields of clients of Cohere, Jina, OpenAI and TEI, which rerank and encode.

One that cannot change the answer is accepted. One that would change it is refused with the reason.
Scores are always the bundle's own, and requests are answered in the order of their arrival.
"""

from ranklet.handlers.api.field import (
    ABSENT,
    ANYTHING,
    DOCUMENTS,
    FLAG,
    NAME,
    STRING,
    TEXTS,
    WHOLE,
    Field,
    Route,
)
from ranklet.runtime.asks import OWN, Ask, keywords

_HUGE = 1 << 31  # more than the texts of any request
_LENGTH = "how much of a text is read is a property of the bundle's rankers"

FOREIGN = (
    Field("texts", DOCUMENTS, Route.RERANK, "texts to rank; the answer is TEI's list", None, None,
          "documents"),
    Field("documents", DOCUMENTS, Route.RERANK, "texts to rank; the answer is Cohere's and Jina's",
          None, None, "documents"),
    Field("top_n", WHOLE, Route.RERANK, "number of texts that come back", None, 1, _HUGE),
    Field("top_k", WHOLE, Route.RERANK, "the same as top_n", None, 1, _HUGE),
    Field("return_documents", FLAG, Route.RERANK, "return the texts", False),
    Field("return_text", FLAG, Route.RERANK, "the same as return_documents", False),
    Field("input", TEXTS, Route.EMBEDDINGS, "texts to encode, no tokens", None, None, "documents",
          needed=True),
    Field("inputs", TEXTS, Route.EMBED, "texts to encode", None, None, "documents", needed=True),
    Field("model", STRING, Route.RERANK, "a name that comes back in the answer", "ranklet", None,
          NAME),
    Field("model", STRING, Route.EMBEDDINGS | Route.EMBED, default="ranklet", most=NAME,
          help="the ranker that encodes; ranklet is the bundle's first that does"),
    Field("input_type", STRING, Route.EMBEDDINGS, "what the texts are, query or document",
          "document", values=("document", "query")),
    Field("prompt_name", STRING, Route.EMBED, "what the texts are, query or document", "document",
          values=("document", "passage", "query")),
    Field("encoding_format", STRING, Route.EMBEDDINGS, "how vectors are written, float or base64",
          "float", values=("float", "base64")),
    Field("dimensions", WHOLE, Route.EMBEDDINGS, least=1, most=_HUGE,
          help="numbers of a vector, as many as the encoder returns"),
    Field("normalize", FLAG, Route.EMBED, "whether dense vectors get the length 1", True),
    Field("truncate", FLAG, Route.RERANK | Route.EMBED, default=True,
          help="if false, a text that is too long is refused"),
    Field("truncation_direction", STRING, Route.RERANK | Route.EMBED, default="right",
          help="long texts are cut at their end", values=("right", "Right")),
    Field("raw_scores", FLAG, Route.RERANK, "it has no effect", False),
    Field("priority", ANYTHING, Route.RERANK, "it has no effect"),
    Field("user", ANYTHING, Route.RERANK | Route.EMBEDDINGS, "it has no effect"),
    # Some clients always send what Cohere does without these fields.
    Field("max_chunks_per_doc", ABSENT, Route.RERANK, _LENGTH, 10),
    Field("max_tokens_per_doc", ABSENT, Route.RERANK, _LENGTH, 4096),
    Field("truncate_prompt_tokens", ABSENT, Route.RERANK, _LENGTH),
    Field("dimensions", ABSENT, Route.EMBED, "vectors have all numbers of the bundle's encoder"),
    Field("rank_fields", ABSENT, Route.RERANK,
          "title and text of a document are ranked; send only what should be ranked"),
    *(
        Field(name, ABSENT, Route.RERANK, option.unfit[OWN], getattr(Ask, name))
        for name, option in keywords(Ask).items()
        if OWN in option.unfit
    ),
    Field("filter", ABSENT, Route.RERANK, keywords(Ask)["where"].unfit[OWN]),
)  # fmt: skip
