// Records of a program, for its profile (src/rushlight/rooms/_records.py): a tree of spots, of bounded
// size, and the first of the runs one by one. A record costs no call of Python.
#pragma once
#include "core/observe.h"

namespace rushlight {

enum class SpotKind : uint8_t { Thread, Op, Work, Node, Range };

// A run begins, inside of the runs that are open on this thread. Gives the depth for `record_end`.
size_t record_begin(PyObject* what, SpotKind kind, Site site, uint64_t number = UINT64_MAX);
// It ended, and all inside of it.
void record_end(size_t depth, Noted noted);
// The shapes and types of its arguments, where they are wanted.
void record_arguments(PyObject* const* values, Py_ssize_t n);

extern PyMethodDef kRecordFunctions[];

}  // namespace rushlight
