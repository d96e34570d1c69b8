#include "core/guard.h"

#include <exception>
#include <new>

#include "core/callbacks.h"
#include "devices/opencl.h"

namespace rushlight {

void raise_caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const opencl::OutOfMemory& e) {
    PyObject* type = callbacks.OutOfMemoryError.get();
    if (type) PyErr_SetString(type, e.what());
  } catch (const opencl::Failure& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const std::exception& e) {
    PyErr_Format(PyExc_RuntimeError, "rushlight: %s\nThis is an error of the library, not of the program.", e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError,
                    "rushlight: an unknown C++ exception\nThis is an error of the library, not of the program.");
  }
}

}  // namespace rushlight
