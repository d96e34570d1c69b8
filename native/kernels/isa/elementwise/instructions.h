// The rows of ops.def as a table, for dispatch.cpp.
#pragma once
#include <cstring>

#include "kernels/kernels.h"

namespace rushlight {

namespace {

// Whether rows of these types are of complex numbers, too.
enum Complex : bool { Real = false, Integer = false, Number = false, Field = true, Any = true };

}  // namespace

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> rows = {
#define OP(name, arity, cost, types, result) {&#name[3], arity, types},  // without "op_"
#include "kernels/isa/elementwise/ops.def"
  };
  return rows;
}

int opcode(const char* name) {
  for (size_t op = 0; op < instructions().size(); ++op) {
    if (std::strcmp(instructions()[op].name, name) == 0) return static_cast<int>(op);
  }
  return -1;
}

}  // namespace rushlight
