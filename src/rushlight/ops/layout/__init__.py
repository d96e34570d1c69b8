"""The same elements in another shape or order: views, joins and rearrangements."""
