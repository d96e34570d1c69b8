// The pointwise ops for float.
#define COMPUTED float
#define REAL
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

const BlockOp* float_ops() { return kOps; }

}  // namespace rushlight::RUSHLIGHT_ISA
