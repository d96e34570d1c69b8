"""`torch._dynamo._trace_wrapped_higher_order_op`, as far as libraries name it."""

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """A block in which tensors may index under vmap; here they always may."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
