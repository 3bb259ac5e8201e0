"""RAGBoost's server side."""
