// Call sites: finding the program's own line among the running frames, and writing it out for an error.
//
// Note [Reading frames]: CPython makes a frame object only where somebody asks for one, and asking costs more than a small op.
// On 3.11 the interpreter's own frames are read instead, whose layout no longer changes there; later versions have a public
// way to the frame object, which is used as it is (slower by some tens of nanoseconds for the first op of a function's call).
#include "core/site.h"

#if PY_VERSION_HEX < 0x030C0000 && !defined(RUSHLIGHT_PUBLIC_FRAMES)
#define RUSHLIGHT_READ_FRAMES 1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

#include <atomic>
#include <cstring>

namespace rushlight {

namespace {

std::string library_folder;  // set once, at import

// Whether a file name is one of the library's, remembered by address: every function of a module has
// the same string, which the entry keeps alive. The lowest bit holds the answer.
std::atomic<uintptr_t> remembered[64];

bool is_library(PyCodeObject* code) {
  PyObject* name = code->co_filename;
  const uintptr_t address = reinterpret_cast<uintptr_t>(name);
  std::atomic<uintptr_t>& entry = remembered[(address >> 4 ^ address >> 10) & 63];
  const uintptr_t known = entry.load(std::memory_order_relaxed);
  if ((known & ~uintptr_t{1}) == address) return known & 1;
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) PyErr_Clear();
  const bool own = text && !library_folder.empty() && static_cast<size_t>(length) > library_folder.size() &&
                   !memcmp(text, library_folder.data(), library_folder.size());
  Py_INCREF(name);
  const uintptr_t before = entry.exchange(address | (own ? 1 : 0), std::memory_order_relaxed) & ~uintptr_t{1};
  Py_XDECREF(reinterpret_cast<PyObject*>(before));
  return own;
}

}  // namespace

int line_of(Site site) { return PyCode_Addr2Line(site.code, site.at); }

#ifdef RUSHLIGHT_READ_FRAMES

Site program_site() {
  const _PyCFrame* running = PyThreadState_Get()->cframe;
  const _PyInterpreterFrame* frame = running ? running->current_frame : nullptr;
  while (frame && is_library(frame->f_code)) frame = frame->previous;
  if (!frame) return Site{nullptr, 0};
  return Site{frame->f_code, static_cast<int32_t>(_PyInterpreterFrame_LASTI(frame) * sizeof(_Py_CODEUNIT))};
}

#else

Site program_site() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);  // the frame holds it, and is itself held by its run
    if (!is_library(code)) {
      const Site site{code, PyFrame_GetLasti(frame)};
      Py_DECREF(frame);
      return site;
    }
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  return Site{nullptr, 0};
}

#endif

bool same_line(Site a, Site b) { return a.code && a.code == b.code && line_of(a) == line_of(b); }

std::string site_text(Site site) {
  if (!site.code) return "";
  const Ref held = Ref::borrow(reinterpret_cast<PyObject*>(site.code));  // what is called here may run code that forgets the site
  // An error that is being handled stays as it is; what goes wrong here leaves the text shorter.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const int line = line_of(site);
  const char* file = PyUnicode_AsUTF8(site.code->co_filename);
  if (!file) PyErr_Clear();
  const char* function = PyUnicode_AsUTF8(site.code->co_qualname);
  if (!function) PyErr_Clear();
  Ref module(PyImport_ImportModule("rushlight._base.sources"));
  Ref cell(module ? PyObject_CallMethod(module.get(), "cell", "O", site.code->co_filename) : nullptr);
  const char* name = cell ? PyUnicode_AsUTF8(cell.get()) : nullptr;
  PyErr_Clear();
  std::string text = name && *name ? std::string("    ") + name + ":" + std::to_string(line)
                                   : std::string("    File \"") + (file ? file : "?") + "\", line " + std::to_string(line);
  text += std::string(", in ") + (function ? function : "?") + "\n";
  Ref source(module ? PyObject_CallMethod(module.get(), "line_of", "Oii", held.get(), line, site.at) : nullptr);
  const char* words = source ? PyUnicode_AsUTF8(source.get()) : nullptr;
  if (words && *words) text += std::string("      ") + words + "\n";
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return text;
}

int set_library_folder(PyObject* folder) {
  const char* text = PyUnicode_AsUTF8(folder);
  if (!text) return -1;
  library_folder = text;
  return 0;
}

}  // namespace rushlight
