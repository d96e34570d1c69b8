// A library that is opened at run time, and what it exports.
#pragma once

#ifdef _WIN32
#define NOMINMAX
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace rushlight {

// nullptr where it cannot be opened; `not_opened` says why, as far as the system does.
inline void* open_library(const char* path) {
#ifdef _WIN32
  return reinterpret_cast<void*>(LoadLibraryA(path));
#else
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

inline const char* not_opened() {
#ifdef _WIN32
  return "the library cannot be opened";
#else
  return dlerror();
#endif
}

inline void* symbol_of(void* library, const char* name) {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
  return dlsym(library, name);
#endif
}

}  // namespace rushlight
