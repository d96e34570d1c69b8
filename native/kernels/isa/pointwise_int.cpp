// The pointwise ops for int64_t.
#include "kernels/isa/loops.h"

namespace rushlight::RUSHLIGHT_ISA {

static constexpr BlockOps kOps = block_ops<int64_t>(AllOps{});

const BlockOp* int_ops() { return kOps.of; }

}  // namespace rushlight::RUSHLIGHT_ISA
