// Records of a program, for its profile (src/rushlight/rooms/_records.py): a tree of spots, of
// bounded size, and the first of the runs one by one. A record makes no object of Python and allocates
// nothing; its cost is two readings of the processor's clock, the place in the program, and sums.
#pragma once
#include "core/observe.h"

namespace rushlight {

// The kind of a spot: the runs of a thread, of an op, of other work of the core, of a node, or of a
// range that Python code tells of.
enum class SpotKind : uint8_t { Thread, Op, Work, Node, Range };

extern PyMethodDef kRecordFunctions[];
int init_records();  // -1 with an exception

}  // namespace rushlight
