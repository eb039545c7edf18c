"""Export, fuse and quantise ONNX graphs."""
