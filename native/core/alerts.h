#pragma once

#include <atomic>

namespace rushlight {

// Whether operators that PyTorch calls not deterministic say so, as use_deterministic_algorithms set it.
inline std::atomic<bool> alerts_nondeterministic{false};

}  // namespace rushlight
