"""What RESULTS.md says, measured: ``python -m benchmarks [NAME …]``; one benchmark a file."""

# In the order in which they run and stand in RESULTS.md; each a module here.
BENCHMARKS = (
    "bm25_parity",
    "model1_quality",
    "repbert_quality",
    "epic_quality",
    "cross_quality",
    "conformer_quality",
    "conformer_impacts",
    "conformer_memory",
    "retrieval_speed",
    "model1_speed",
    "cold_start",
    "memory",
    "quantisation",
    "encoding_speed",
    "cross_speed",
    "hybrid_speed",
    "sparsify_speed",
    "epic_speed",
    "splade_speed",
    "hybrid_cold_start",
    "lambda_cold_start",
    "http_load",
)
