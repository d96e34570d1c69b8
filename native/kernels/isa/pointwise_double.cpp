// The pointwise ops for double.
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

static constexpr BlockOps kOps = block_ops<double>(AllOps{});

const BlockOp* double_ops() { return kOps.of; }

}  // namespace rushlight::RUSHLIGHT_ISA
