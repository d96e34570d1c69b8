#include "core/guard.h"

#include <exception>
#include <new>

#include "core/accelerator.h"
#include "core/callbacks.h"

#if defined(__linux__) && PY_VERSION_HEX < 0x030E0000
#include <unistd.h>
#include <unwind.h>

// When Python ends, each thread that asks for the GIL is ended by pthread_exit (up to 3.13; from then on Python parks it). Glibc
// unwinds the thread's stack for that: through noexcept, which is an abort, and through destructors, which would count references
// without the GIL. The unwinder asks the personality routine before it does anything to a frame of C++, and CMakeLists.txt links
// this one in the place of libstdc++'s: a thread stops here, at the first frame of the core, until the process ends.
extern "C" {
_Unwind_Reason_Code __real___gxx_personality_v0(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*);

[[gnu::used]] _Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                              _Unwind_Exception* exception, _Unwind_Context* context) {
#if PY_VERSION_HEX < 0x030D0000
  const bool ending = (actions & _UA_FORCE_UNWIND) && _Py_IsFinalizing();
#else
  const bool ending = (actions & _UA_FORCE_UNWIND) && Py_IsFinalizing();
#endif
  while (ending) pause();
  return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
}
#endif

namespace rushlight {

#ifdef Py_GIL_DISABLED
PyObject* turn = nullptr;
int make_turn() {
  if (!turn) turn = ::PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return turn ? 0 : -1;
}
#endif

void raise_caught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const devices::OutOfMemory& e) {
    PyObject* type = callbacks.OutOfMemoryError.get();
    if (type) PyErr_SetString(type, e.what());
  } catch (const devices::Broken& e) {
    raise_broken(e.what());
  } catch (const devices::Failure& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (const std::exception& e) {
    PyErr_Format(PyExc_RuntimeError, "rushlight: %s\nThis is an error of the library, not of the program.", e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError,
                    "rushlight: an unknown C++ exception\nThis is an error of the library, not of the program.");
  }
}

}  // namespace rushlight
