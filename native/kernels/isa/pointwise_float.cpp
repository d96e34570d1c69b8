// The pointwise ops for float.
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

static constexpr BlockOps kOps = block_ops<float>(AllOps{});

const BlockOp* float_ops() { return kOps.of; }

}  // namespace rushlight::RUSHLIGHT_ISA
