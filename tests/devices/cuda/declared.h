// The part of cuda.h and nvrtc.h that the stand-in needs, with their numbers.
#pragma once
#include <cstddef>

enum nvrtcResult {
  NVRTC_SUCCESS,
  NVRTC_ERROR_OUT_OF_MEMORY,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE,
  NVRTC_ERROR_INVALID_INPUT,
  NVRTC_ERROR_INVALID_PROGRAM,
  NVRTC_ERROR_INVALID_OPTION,
  NVRTC_ERROR_COMPILATION
};
using nvrtcProgram = struct _nvrtcProgram*;
