// Being written.
#include "bindings/bindings.h"
namespace rushlight {
PyMethodDef kNormMethods[] = {{nullptr, nullptr, 0, nullptr}};
}
