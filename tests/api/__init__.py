"""Tests of gossamer as programs use it."""
