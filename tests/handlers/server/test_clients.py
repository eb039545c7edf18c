"""Real client libraries against the running server: each in a process of its own, unmodified.

A process each, since they bring warnings, threads and settings that are theirs.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import TinyRankers

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle

if TYPE_CHECKING:
    from tests.handlers.conftest import Start

KEY = "the-key"
QUERY = "how long must a dough rise"
TEXTS = (
    "Wash the windows with vinegar.",
    "Let the dough rise for an hour, until it has doubled.",
    "Oil the hinges of the door.",
    "Knead the dough.",
)

# Every script finds `url`, `key`, `query`, `texts`, and leaves `found`: (place, score), best first.
SCRIPTS = {
    "cohere, version 2": (
        "cohere",
        """
import cohere
reply = cohere.ClientV2(key, base_url=url).rerank(
    model="ranklet", query=query, documents=texts, top_n=3)
found = [(each.index, each.relevance_score) for each in reply.results]
""",
    ),
    "cohere, version 1": (
        "cohere",
        """
import cohere
reply = cohere.Client(key, base_url=url).rerank(
    model="ranklet", query=query, documents=[{"text": text} for text in texts], top_n=3,
    return_documents=True)
assert [each.document.text for each in reply.results] == [texts[e.index] for e in reply.results]
found = [(each.index, each.relevance_score) for each in reply.results]
""",
    ),
    "cohere, asynchronous": (
        "cohere",
        """
import asyncio, cohere
async def ask():
    async with cohere.AsyncClientV2(key, base_url=url) as client:
        return await client.rerank(model="ranklet", query=query, documents=texts, top_n=3)
found = [(each.index, each.relevance_score) for each in asyncio.run(ask()).results]
""",
    ),
    "litellm as cohere": (
        "litellm",
        """
import litellm
reply = litellm.rerank(model="cohere/ranklet", query=query, documents=texts, top_n=3,
                       api_key=key, api_base=url + "/v2/rerank")
found = [(each["index"], each["relevance_score"]) for each in reply.results]
""",
    ),
    "litellm as jina": (
        "litellm",
        """
import litellm
reply = litellm.rerank(model="jina_ai/ranklet", query=query, documents=texts, top_n=3,
                       api_key=key, api_base=url + "/v1/rerank")
found = [(each["index"], each["relevance_score"]) for each in reply.results]
assert reply.results[0]["document"]["text"] == texts[found[0][0]]
""",
    ),
    "litellm as vllm": (
        "litellm",
        """
import litellm
reply = litellm.rerank(model="hosted_vllm/ranklet", query=query, documents=texts, top_n=3,
                       api_key=key, api_base=url)
found = [(each["index"], each["relevance_score"]) for each in reply.results]
""",
    ),
    "litellm as huggingface": (
        "litellm",
        """
import litellm
reply = litellm.rerank(model="huggingface/ranklet", query=query, documents=texts, top_n=3,
                       api_key=key, api_base=url)
found = [(each["index"], each["relevance_score"]) for each in reply.results]
""",
    ),
    "langchain-cohere": (
        "langchain_cohere",
        """
from langchain_cohere import CohereRerank
from langchain_core.documents import Document
ranker = CohereRerank(base_url=url, cohere_api_key=key, model="ranklet", top_n=3)
documents = [Document(page_content=text, metadata={"at": at}) for at, text in enumerate(texts)]
kept = ranker.compress_documents(documents, query)
found = [(each.metadata["at"], each.metadata["relevance_score"]) for each in kept]
""",
    ),
    "langchain-community, jina": (
        "langchain_community",
        """
import langchain_community.document_compressors.jina_rerank as jina
from langchain_core.documents import Document
jina.JINA_API_URL = url + "/v1/rerank"  # a constant there
ranker = jina.JinaRerank(jina_api_key=key, model="ranklet", top_n=3)
documents = [Document(page_content=text, metadata={"at": at}) for at, text in enumerate(texts)]
kept = ranker.compress_documents(documents, query)
found = [(each.metadata["at"], each.metadata["relevance_score"]) for each in kept]
""",
    ),
    "llama-index, tei": (
        "llama_index.postprocessor.tei_rerank",
        """
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
ranker = TextEmbeddingInference(base_url=url, top_n=3, auth_token=f"Bearer {key}")
nodes = [NodeWithScore(node=TextNode(text=text, id_=str(at))) for at, text in enumerate(texts)]
kept = ranker.postprocess_nodes(nodes, query_str=query)
found = [(int(each.node.node_id), each.score) for each in kept]
""",
    ),
    "llama-index, cohere": (
        "llama_index.postprocessor.cohere_rerank",
        """
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank
ranker = CohereRerank(base_url=url, api_key=key, model="ranklet", top_n=3)
nodes = [NodeWithScore(node=TextNode(text=text, id_=str(at))) for at, text in enumerate(texts)]
kept = ranker.postprocess_nodes(nodes, query_str=query)
found = [(int(each.node.node_id), each.score) for each in kept]
""",
    ),
    "llama-index, jina": (
        "llama_index.postprocessor.jinaai_rerank",
        """
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.jinaai_rerank import JinaRerank
ranker = JinaRerank(base_url=url + "/v1", api_key=key, model="ranklet", top_n=3)
nodes = [NodeWithScore(node=TextNode(text=text, id_=str(at))) for at, text in enumerate(texts)]
kept = ranker.postprocess_nodes(nodes, query_str=query)
found = [(int(each.node.node_id), each.score) for each in kept]
""",
    ),
    "haystack, cohere": (
        "haystack_integrations.components.rankers.cohere",
        """
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker
ranker = CohereRanker(model="ranklet", top_k=3, api_key=Secret.from_token(key), api_base_url=url)
documents = [Document(content=text, meta={"at": at}) for at, text in enumerate(texts)]
kept = ranker.run(query=query, documents=documents)["documents"]
found = [(each.meta["at"], each.score) for each in kept]
""",
    ),
}

# Every script leaves `found`: vectors of the texts as documents, then, if it can, of the query.
ENCODING = {
    "openai": (
        "openai",
        """
import openai
client = openai.OpenAI(base_url=url + "/v1", api_key=key)
model = client.models.list().data[0].id
reply = client.embeddings.create(model=model, input=texts)
assert reply.model == model and [each.index for each in reply.data] == list(range(len(texts)))
asked = client.embeddings.create(model="ranklet", input=query, encoding_format="float",
                                 extra_body={"input_type": "query"})
found = [each.embedding for each in (*reply.data, *asked.data)]
""",
    ),
    "LangChain": (
        "langchain_openai",
        """
from langchain_openai import OpenAIEmbeddings
given = {"base_url": url + "/v1", "api_key": key, "model": "ranklet",
         "check_embedding_ctx_length": False}
asked = OpenAIEmbeddings(**given, model_kwargs={"extra_body": {"input_type": "query"}})
found = [*OpenAIEmbeddings(**given).embed_documents(texts), asked.embed_query(query)]
""",
    ),
    "LlamaIndex": (
        "llama_index.embeddings.openai_like",
        """
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
given = {"model_name": "ranklet", "api_base": url + "/v1", "api_key": key}
asked = OpenAILikeEmbedding(**given, additional_kwargs={"extra_body": {"input_type": "query"}})
found = [*OpenAILikeEmbedding(**given).get_text_embedding_batch(texts),
         asked.get_query_embedding(query)]
""",
    ),
    # Its embedders cannot say that a text is a query.
    "Haystack": (
        "haystack",
        """
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.utils import Secret
embedder = OpenAIDocumentEmbedder(api_base_url=url + "/v1", api_key=Secret.from_token(key),
                                  model="ranklet", progress_bar=False)
documents = embedder.run([Document(content=text) for text in texts])["documents"]
found = [each.embedding for each in documents]
""",
    ),
    "huggingface_hub": (
        "huggingface_hub",
        """
from huggingface_hub import InferenceClient
client = InferenceClient(model=url + "/embed", token=key)
found = [client.feature_extraction(text, normalize=False)[0].tolist() for text in texts]
found += client.feature_extraction(query, prompt_name="query", truncate=True,
                                   normalize=False).tolist()
""",
    ),
}

AROUND = """
import json, sys
url, key, query, *texts = sys.argv[1:]
{script}
print(json.dumps(found))
"""


def _missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:
        return True


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("client", SCRIPTS)
def test_a_client_gets_the_ranking(start: "Start", bundle: Bundle, client: str) -> None:
    found = _left(start, *SCRIPTS[client])
    wanted = bundle.rank(QUERY, TEXTS, k=3)
    assert [place for place, _ in found] == [hit.index for hit in wanted]
    assert [score for _, score in found] == pytest.approx([hit.score for hit in wanted], rel=1e-5)


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("client", ENCODING)
def test_a_client_gets_the_vectors(start: "Start", tiny: TinyRankers, client: str) -> None:
    path = tiny.indexed("dense")
    found = _left(start, *ENCODING[client], RANKLET_BUNDLE=str(path))
    bundle = load(path, device="cpu")
    wanted = [*bundle.encode_document(TEXTS), bundle.encode_query(QUERY)][: len(found)]
    assert len(found) >= len(TEXTS)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def _left(start: "Start", module: str, script: str, **variables: str) -> Any:
    """Return what a script has found, of a server that refused nothing."""
    if _missing(module):
        pytest.skip(f"{module} is not installed")
    quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with start(RANKLET_API_KEY=KEY, **variables) as server:
        done = subprocess.run(
            [sys.executable, "-c", AROUND.format(script=script), server.url, KEY, QUERY, *TEXTS],
            env={**os.environ, **quiet},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        refused = [line for line in server.log() if line.get("status", 0) >= 400]
        assert refused == []
    return json.loads(done.stdout.splitlines()[-1])
