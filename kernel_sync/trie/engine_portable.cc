#include "kernel_sync/trie/engine.h"

namespace waypost::kernel_sync::trie {

template <int kBits>
const Engine<kBits>* portable_engine() {
  static constexpr Engine<kBits> kEngine = make_engine<kBits, PortableIsa>();
  return &kEngine;
}
template const Engine<32>* portable_engine<32>();
template const Engine<128>* portable_engine<128>();

#if !defined(__x86_64__)
// Elsewhere engine_vector.cc is compiled without anything to build on.
template <int kBits>
const Engine<kBits>* vector_engine() {
  return nullptr;
}
template const Engine<32>* vector_engine<32>();
template const Engine<128>* vector_engine<128>();
#endif

}  // namespace waypost::kernel_sync::trie
