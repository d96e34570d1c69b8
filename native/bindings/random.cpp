// Being written.
#include "bindings/bindings.h"
namespace rushlight {
PyMethodDef kRandomMethods[] = {{nullptr, nullptr, 0, nullptr}};
}
