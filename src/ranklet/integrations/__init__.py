"""Components for other frameworks, with one module and one extra per framework.

A component passes its options to `Bundle.rank`, and its errors are ranklet's own.
"""
