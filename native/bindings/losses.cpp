// Being written.
#include "bindings/bindings.h"
namespace rushlight {
PyMethodDef kLossMethods[] = {{nullptr, nullptr, 0, nullptr}};
}
