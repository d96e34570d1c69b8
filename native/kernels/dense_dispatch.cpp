// Chooses the DenseKernels table: that of the instruction set whose pointwise table kernels() chose.
#include <cstring>

#include "kernels/dense.h"

namespace rushlight {

#define RUSHLIGHT_DECLARE(name)      \
  namespace name {                   \
  const DenseKernels& dense_table(); \
  }
#ifdef RUSHLIGHT_HAS_ISA_baseline
RUSHLIGHT_DECLARE(baseline)
#endif
#ifdef RUSHLIGHT_HAS_ISA_v2
RUSHLIGHT_DECLARE(v2)
#endif
#ifdef RUSHLIGHT_HAS_ISA_v3
RUSHLIGHT_DECLARE(v3)
#endif
#ifdef RUSHLIGHT_HAS_ISA_v4
RUSHLIGHT_DECLARE(v4)
#endif
#undef RUSHLIGHT_DECLARE

static const DenseKernels& choose() {
  [[maybe_unused]] const char* isa = kernels().isa;
#ifdef RUSHLIGHT_HAS_ISA_v4
  if (std::strcmp(isa, "v4") == 0) return v4::dense_table();
#endif
#ifdef RUSHLIGHT_HAS_ISA_v3
  if (std::strcmp(isa, "v3") == 0) return v3::dense_table();
#endif
#ifdef RUSHLIGHT_HAS_ISA_v2
  if (std::strcmp(isa, "v2") == 0) return v2::dense_table();
#endif
#ifdef RUSHLIGHT_HAS_ISA_baseline
  return baseline::dense_table();
#else
  return v2::dense_table();  // every x86-64 build has it
#endif
}

const DenseKernels& dense_kernels() {
  static const DenseKernels& table = choose();
  return table;
}

}  // namespace rushlight
