// Guards: a fast answer to whether all Python state that a run could have read is as it was; state.cpp has more.
#pragma once
#include "core/python.h"

namespace rushlight {

int init_state(PyObject* module);
// Whether code that reads the one value cannot tell it from the other. Runs no Python code.
bool same_value(PyObject* a, PyObject* b);
// Guards.match: a tuple of the inputs, or None; nullptr with an exception.
PyObject* matched_inputs(PyObject* guards, PyObject* args, PyObject* kwargs);

}  // namespace rushlight
