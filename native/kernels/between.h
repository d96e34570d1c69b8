// Reductions between processes, as functions that MPI calls: of the 16-bit floats, which MPI does not know, and the
// mean of two, which spares a pass over the memory.
#pragma once
#include "kernels/kernels.h"

namespace rushlight {

// MPI_User_function: theirs into ours, n elements. Called without the GIL, from MPI's own progress.
using BetweenFunction = void (*)(void* theirs, void* ours, int* n, void* datatype);

// Mean: halves are added, so it is the mean where there are two processes.
enum class Between : uint8_t { Sum, Product, Min, Max, Mean };

// Null for what MPI has itself, and for types that are no floats.
BetweenFunction between_function(DType type, Between op);

}  // namespace rushlight
