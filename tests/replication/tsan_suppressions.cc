// ThreadSanitizer cannot see how the distribution's gRPC synchronizes, since that library is built without
// it, so it takes every hand-over inside gRPC for a race. What is ours runs on the order thread, which it
// does see.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();  // NOLINT: the sanitizer's own name
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n"
         "race:libgrpc\n"
         "race:libgpr\n"
         "race:libabsl\n"
         "race:libssl\n"
         "race:libcrypto\n"
         "race:grpc::\n";
}
#endif
