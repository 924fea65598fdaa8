"""What the scores mean: statistics, expectations, drift, diagnosis."""
