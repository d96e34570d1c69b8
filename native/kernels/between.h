// Reductions between processes, as functions that MPI calls: of the 16-bit floats, which MPI does not know.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

// MPI_User_function: theirs into ours, n elements. Called without the GIL, from MPI's own progress.
using BetweenFunction = void (*)(void* theirs, void* ours, int* n, void* datatype);

enum class Between : uint8_t { Sum, Product, Min, Max };

// Null for a type that is neither F16 nor BF16.
BetweenFunction between_function(DType type, Between op);

}  // namespace rushlight
