// Memory as programs see it: UntypedStorage, the Python object that stands for a Storage while somebody holds it; and DLPack.
#pragma once
#include "core/core.h"

namespace rushlight {

extern PyMethodDef kStorageFunctions[];  // untyped_storage.cpp
extern PyMethodDef kDlpackFunctions[];   // dlpack.cpp
int init_untyped_storage(PyObject* module);

}  // namespace rushlight
