"""ONNX models: sessions and encoders."""
