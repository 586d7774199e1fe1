"""The benchmarks that take files of the operator."""
