"""The mechanism of the op table: what a statement may say, and how it becomes an op."""
