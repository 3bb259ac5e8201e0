"""RAGBoost's import names over convrag, so that programs written for RAGBoost run unchanged.

PYTHONPATH=docs/examples/multi_turn python your_program.py
"""
