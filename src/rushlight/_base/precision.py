"""How precisely products of matrices are computed on CUDA's devices: torch.backends.cuda.matmul."""

__all__ = ["Matmul", "matmul"]


class Matmul:
    """The switches; `allow_tf32` lets tensor cores multiply float32 rounded to TF32."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul: Matmul = Matmul()
