"""Fuzzing of everything that reads bytes of others: `make fuzz` searches for minutes, the tests for seconds."""
