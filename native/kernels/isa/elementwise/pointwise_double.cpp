// The pointwise ops for double.
#define COMPUTED double
#define REAL
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

const BlockOp* double_ops() { return kOps; }

}  // namespace rushlight::RUSHLIGHT_ISA
