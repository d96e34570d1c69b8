#pragma once

#include "core/core.h"

namespace rushlight {

extern PyMethodDef kBlockFunctions[];
int init_blocks();

}  // namespace rushlight
