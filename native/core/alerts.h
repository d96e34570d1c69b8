#pragma once

#include <atomic>

namespace rushlight {

// Whether operators that PyTorch calls not deterministic say so (use_deterministic_algorithms).
inline std::atomic<bool> alerts_nondeterministic{false};

inline thread_local bool on_cpu = true;  // whether the default device of this thread is the CPU

}  // namespace rushlight
