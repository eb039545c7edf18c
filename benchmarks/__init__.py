"""What benchmarks/results/ says, measured: ``python -m benchmarks [NAME …]``; one per file."""

# In the order in which they run and stand in their subject's page: the name, and the package of
# its module. Those that chose what is chosen now are archived: see benchmarks/archive.md.
BENCHMARKS = {
    "bm25_parity": "parity",
    "default_fusion": "fusion",
    "hybrid_peers": "fusion",
    "learned": "learning",
    "fidelity": "quality",
    "words": "quality",
    "retrieval_speed": "speed",
    "filter_speed": "speed",
    "cold_start": "footprint",
    "memory": "footprint",
    "bundle_sizes": "footprint",
    "growth": "growth",
    "first_hour": "footprint",
    "encoding_speed": "speed",
    "cross_speed": "speed",
    "dense_search": "dense",
    "sparse_speed": "speed",
    "late_interaction_speed": "late_interaction",
    "all_systems": "all_systems",
    "pipeline_precision": "parity",
    "update_speed": "footprint",
    "object_storage": "objects",
    "ray_build": "cluster",
    "http_load": "speed",
    "hostile_requests": "speed",
    "abandoned_requests": "speed",
    "gpu_checks": "gpu",
    "paper_trainings": "papers",
}
