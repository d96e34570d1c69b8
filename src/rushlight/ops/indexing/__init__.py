"""Elements by index or mask: subscripts, take, gather and scatter, index_select."""
