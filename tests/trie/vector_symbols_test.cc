// The file compiled for AVX2 must not define a function that other files define as well: the linker keeps one
// of them for all, and where it keeps that one, a processor without AVX2 stops on an illegal instruction.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

// Only what is optimized as released is inlined as released.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    defined(__x86_64__)

namespace waypost::kernel_sync {
namespace {

TEST(VectorSymbols, AllNameTheirInstructions) {
  // Every weak function of the object carries VectorIsa in its name, or is the entry that chooses the code.
  const std::string object = std::string(WAYPOST_BINARY_DIR) +
                             "/kernel_sync/CMakeFiles/waypost_kernel_sync.dir/trie/engine_vector.cc.o";
  FILE* const pipe = popen(("nm -C '" + object + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[4096];
  size_t weak = 0;
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string symbol = line;
    if (symbol.find(" W ") == std::string::npos) continue;
    ++weak;
    const bool apart = symbol.find("VectorIsa") != std::string::npos;
    EXPECT_TRUE(apart || symbol.find("vector_engine<") != std::string::npos) << symbol;
  }
  EXPECT_EQ(pclose(pipe), 0) << "nm could not read " << object;
  EXPECT_GT(weak, 0u);
}

}  // namespace
}  // namespace waypost::kernel_sync

#endif
