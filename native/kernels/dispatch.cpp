// Chooses, once, the kernel table of the best instruction set that was compiled in and this processor has.
//
// RUSHLIGHT_ISA=v2 (v3, v4) in the environment asks for a set, where the processor has that.
#include <cstdlib>

#include "kernels/isa/elementwise/instructions.h"

namespace rushlight {

#ifdef RUSHLIGHT_HAS_ISA_baseline
namespace baseline {
const Kernels& table();
}
#endif
#ifdef RUSHLIGHT_HAS_ISA_v2
namespace v2 {
const Kernels& table();
}
#endif
#ifdef RUSHLIGHT_HAS_ISA_v3
namespace v3 {
const Kernels& table();
}
#endif
#ifdef RUSHLIGHT_HAS_ISA_v4
namespace v4 {
const Kernels& table();
}
#endif

namespace {

struct Candidate {
  const char* name;
  const Kernels& (*table)();
  bool supported;
};

const Kernels& choose() {
#if defined(RUSHLIGHT_HAS_ISA_v3) || defined(RUSHLIGHT_HAS_ISA_v4)
  [[maybe_unused]] const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                       __builtin_cpu_supports("bmi2");
#endif
#ifdef RUSHLIGHT_HAS_ISA_v4
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
#endif
  const Candidate candidates[] = {
                                    // from the plainest to the best
#ifdef RUSHLIGHT_HAS_ISA_baseline
      {"baseline", baseline::table, true},
#endif
#ifdef RUSHLIGHT_HAS_ISA_v2
      {"v2", v2::table, true},
#endif
#ifdef RUSHLIGHT_HAS_ISA_v3
      {"v3", v3::table, has_v3},
#endif
#ifdef RUSHLIGHT_HAS_ISA_v4
      {"v4", v4::table, has_v4},
#endif
  };
  const char* wanted = std::getenv("RUSHLIGHT_ISA");
  const Candidate* best = &candidates[0];
  for (const Candidate& candidate : candidates) {
    if (!candidate.supported) continue;
    best = &candidate;
    if (wanted != nullptr && std::strcmp(candidate.name, wanted) == 0) break;
  }
  return best->table();
}

decltype(Kernels::run_view) run_view = nullptr;  // of the chosen table; set before anyone has the table

Traversal run_program(const Program& program, DType compute, const Strided* inputs, const Strided& out, int ndim,
                      const ptrdiff_t* shape) {
  const size_t constants = compute == DType::I64 ? program.int_constants.size() : program.constants.size();
  const ProgramView view = {program.n_inputs,   static_cast<int>(constants), static_cast<int>(program.code.size()),
                            program.result,     program.constants.data(),    program.int_constants.data(),
                            program.code.data()};
  return run_view(view, compute, inputs, out, ndim, shape);
}

}  // namespace

const Kernels& kernels() {
  static const Kernels table = [] {
    Kernels copy = choose();
    copy.run_program = run_program;
    run_view = copy.run_view;
    return copy;
  }();
  return table;
}

}  // namespace rushlight
