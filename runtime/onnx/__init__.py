"""Run ONNX models, by sessions and encoders."""
