// The pointwise ops for int64_t.
#define COMPUTED int64_t
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

const BlockOp* int_ops() { return kOps; }

}  // namespace rushlight::RUSHLIGHT_ISA
