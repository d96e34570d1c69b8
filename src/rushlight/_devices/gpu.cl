// NVIDIA's instructions that CUDA C has no words for, by the names of the PTX manual; of cards from capability 8.0 on. A file that runs
// texts on a processor defines HERE, and the same functions.
#if defined(__CUDACC__) && !defined(HERE)

// d += a b for a warp; how the lanes hold the three is in "Matrix Fragments for mma.m16n8k16" and ".m16n8k8".
FUNCTION void mma_bf16(float d[4], const u32 a[4], const u32 b[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

FUNCTION void mma_half(float d[4], const u32 a[4], const u32 b[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

FUNCTION void mma_tf32(float d[4], const u32 a[4], const u32 b[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The nearest number of ten bits after the point ("cvt.rna.tf32.f32").
FUNCTION u32 to_tf32(float value) {
  u32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

FUNCTION u32 shared_address(const void *shared) { return (u32)__cvta_generic_to_shared(shared); }

// 16 bytes from global into shared memory, both at multiples of 16, while the item goes on ("cp.async"). Copies up to a copy_commit
// are a batch; after copy_wait(n) only the last n batches of this item may still be on their way.
FUNCTION void copy_16(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(shared_address(shared)), "l"(global) : "memory");
}
FUNCTION void copy_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
#define copy_wait(n) asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory")

// Four matrices of 8 x 8 halves: lanes 8 i to 8 i + 7 give the rows of matrix i, 16 bytes each, and lane l gets of d[i] elements
// 2 (l % 4) and the next of row l / 4 ("ldmatrix"); of column l / 4 with 4t.
FUNCTION void load_matrix_4(u32 d[4], const void *shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(shared)) : "memory");
}

FUNCTION void load_matrix_4t(u32 d[4], const void *shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(shared)) : "memory");
}
#endif
