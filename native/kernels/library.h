// A library that is opened at run time, and what it exports.
#pragma once

#ifdef _WIN32
#define NOMINMAX
#include <windows.h>
#elif !defined(__EMSCRIPTEN__)
#include <dlfcn.h>
#endif

namespace rushlight {

// nullptr where it cannot be opened; `not_opened` says why, as far as the system does.
inline void* open_library(const char* path) {
#ifdef _WIN32
  return reinterpret_cast<void*>(LoadLibraryA(path));
#elif defined(__EMSCRIPTEN__)  // none: the compiler leaves out what needs one
  return (void)path, nullptr;
#else
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
}

inline const char* not_opened() {
#if defined(_WIN32) || defined(__EMSCRIPTEN__)
  return "the library cannot be opened";
#else
  return dlerror();
#endif
}

inline void* symbol_of(void* library, const char* name) {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#elif defined(__EMSCRIPTEN__)
  return (void)library, (void)name, nullptr;
#else
  return dlsym(library, name);
#endif
}

}  // namespace rushlight
