// Where in the program something happened: a code object and an instruction in it. Noting one costs a few loads and a
// reference count, and no text is made before an error needs it (site.cpp).
#pragma once
#include <string>

#include "core/python.h"

namespace rushlight {

struct Site {
  PyCodeObject* code;  // strong, or nullptr where no program was running
  int32_t at;          // offset into its bytecode
};

// The line that the program is at: of its own code, not the library's. `code` is borrowed.
Site program_site();

// Field by field: copied whole, a site that was just written in two halves is read before it is there, which stalls.
inline void set_site(Site* site, PyCodeObject* code, int32_t at) {
  site->code = code;
  site->at = at;
}
inline void keep_site(Site* kept, Site now) {
  Py_XINCREF(now.code);
  PyCodeObject* before = kept->code;
  set_site(kept, now.code, now.at);
  Py_XDECREF(before);
}
inline void note_site(Site* kept) { keep_site(kept, program_site()); }
inline void forget_site(Site* kept) { keep_site(kept, Site{nullptr, 0}); }

// `File "...", line ..., in ...`, or `In[3]:2, in ...` of a notebook's cell, with the source line
// below, both indented, each ended by a newline. Empty for none.
std::string site_text(Site site);
int line_of(Site site);
bool same_line(Site a, Site b);

// Files below this folder are the library's own.
int set_library_folder(PyObject* folder);

}  // namespace rushlight
