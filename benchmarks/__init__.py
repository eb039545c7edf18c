"""What RESULTS.md says, measured: ``python -m benchmarks [NAME …]``; one benchmark per file."""

# In the order in which they run and stand in RESULTS.md: the name, and the package of its module.
BENCHMARKS = {
    "bm25_parity": "parity",
    "model1_quality": "quality",
    "imported_quality": "quality",
    "repbert_quality": "quality",
    "epic_quality": "quality",
    "cross_quality": "quality",
    "conformer_quality": "quality",
    "conformer_impacts": "quality",
    "conformer_memory": "footprint",
    "retrieval_speed": "speed",
    "model1_speed": "speed",
    "cold_start": "footprint",
    "memory": "footprint",
    "quantisation": "quality",
    "encoding_speed": "speed",
    "cross_speed": "speed",
    "hybrid_speed": "speed",
    "sparsify_speed": "speed",
    "epic_speed": "speed",
    "splade_speed": "speed",
    "hybrid_cold_start": "footprint",
    "lambda_cold_start": "footprint",
    "http_load": "speed",
}
