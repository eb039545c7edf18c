"""fp16 and CUDA on a machine with an NVIDIA GPU: ``python -m benchmarks.gpu``."""
