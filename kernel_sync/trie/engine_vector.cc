// Compiled with AVX2, BMI and POPCNT switched on (kernel_sync/CMakeLists.txt); see isa.h for what that asks.
#include "kernel_sync/trie/engine.h"

#if defined(__x86_64__)

namespace waypost::kernel_sync::trie {

template <int kBits>
const Engine<kBits>* vector_engine() {
  static constexpr Engine<kBits> kEngine = make_engine<kBits, VectorIsa>();
  // LZCNT came to both makers' processors before AVX2 did.
  const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return supported ? &kEngine : nullptr;
}
template const Engine<32>* vector_engine<32>();
template const Engine<128>* vector_engine<128>();

}  // namespace waypost::kernel_sync::trie

#endif
