// A promise to the vectoriser.
#pragma once

// The next loop reads and writes nothing that another of its iterations writes: out is an operand or apart from it.
#if defined(__clang__)
#define RUSHLIGHT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define RUSHLIGHT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RUSHLIGHT_INDEPENDENT
#endif
