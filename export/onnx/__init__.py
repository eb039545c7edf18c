"""ONNX graphs: exported, fused, quantised."""
