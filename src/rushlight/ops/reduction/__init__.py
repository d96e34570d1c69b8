"""Many elements to one or in order along dimensions: sums, extremes, scans, sorting."""
