// The binary `waypost`.
#include <cstdio>

int main() {
  std::fputs("error: this build of waypost prints rows, but does not speak to a server yet\n", stderr);
  return 1;
}
