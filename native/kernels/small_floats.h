// Numbers of 8 bits, as they are stored: to float and from it. In each file that includes this, on its own.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/kernels.h"

namespace rushlight {
namespace {

// kFraction and kBias: of the format. kTop: the largest exponent field with numbers. kNan: the bits of a NaN without a sign, and of the
// only one where there is no -0 (kUnsigned). kLargest: what a larger number becomes.
template <DType kType, int kFraction, int kBias, uint8_t kLargest, uint8_t kNan, bool kUnsignedZero, bool kInfinite>
struct Small {
  uint8_t bits;

  explicit operator float() const {
    const uint32_t magnitude = bits & 0x7fu;
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
    if (kUnsignedZero ? bits == 0x80 : kInfinite ? magnitude > 0x7c : magnitude == 0x7f) {
      return std::bit_cast<float>((kUnsignedZero ? 0 : sign) | 0x7fc00000u);
    }
    if (kInfinite && magnitude == 0x7c) return std::bit_cast<float>(sign | 0x7f800000u);
    // A subnormal number is a sum of its bits; the difference of the biases is a power of two.
    const uint32_t wide = magnitude << (23 - kFraction);
    const float scaled = std::bit_cast<float>(wide) * std::bit_cast<float>(static_cast<uint32_t>(254 - kBias) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }

  // To the nearest, to even in between.
  static Small of(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint8_t sign = static_cast<uint8_t>(u >> 24 & 0x80u);
    const uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<uint8_t>(kUnsignedZero ? kNan : sign | kNan)};
    constexpr int kDrop = 23 - kFraction;
    constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
    uint32_t rounded;
    if (magnitude < kRebias + (1u << 23)) {  // subnormal: the addition rounds to multiples of the smallest number
      constexpr float kHelp = std::bit_cast<float>(static_cast<uint32_t>(127 - kBias + 1 + kDrop) << 23);
      rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + kHelp) - std::bit_cast<uint32_t>(kHelp);
    } else {
      rounded = (magnitude - kRebias + (1u << (kDrop - 1)) - 1 + (magnitude >> kDrop & 1u)) >> kDrop;
    }
    if (magnitude >= 0x7f800000u || rounded > kLargest) rounded = kInfinite ? 0x7c : kUnsignedZero ? kNan : kLargest;
    if (kUnsignedZero && (rounded == 0 || rounded == kNan)) return {static_cast<uint8_t>(rounded)};
    return {static_cast<uint8_t>(sign | rounded)};
  }
};

// A power of two: the exponent of a float.
struct Scale {
  uint8_t bits;

  explicit operator float() const {
    if (bits == 0) return std::bit_cast<float>(0x00400000u);
    return std::bit_cast<float>(bits == 0xff ? 0x7f800001u : static_cast<uint32_t>(bits) << 23);
  }
  static Scale of(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint32_t exponent = u >> 23 & 0xffu;
    if (exponent == 0xff) return {0xff};
    const bool half = u & 0x400000u, more = u & 0x3fffffu;
    return {static_cast<uint8_t>(exponent + (half && (more || exponent > 0)))};
  }
};

using E4M3FN = Small<DType::F8E4M3FN, 3, 7, 0x7e, 0x7f, false, false>;
using E4M3FNUZ = Small<DType::F8E4M3FNUZ, 3, 8, 0x7f, 0x80, true, false>;
using E5M2 = Small<DType::F8E5M2, 2, 15, 0x7b, 0x7f, false, true>;
using E5M2FNUZ = Small<DType::F8E5M2FNUZ, 2, 16, 0x7f, 0x80, true, false>;

template <class T>
constexpr bool kSmall = std::is_same_v<T, E4M3FN> || std::is_same_v<T, E4M3FNUZ> || std::is_same_v<T, E5M2> ||
                        std::is_same_v<T, E5M2FNUZ> || std::is_same_v<T, Scale>;

}  // namespace
}  // namespace rushlight
