// Any bytes, in any pieces, into the frame decoder and, where a frame comes out, into the envelope's parser:
// no crash, no more memory than one frame beside the piece.
#include <cstdint>
#include <string>
#include <string_view>

#include "model/check.h"
#include "model/limits.h"
#include "rpc/frame.h"
#include "rpc/waypost.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  waypost::rpc::FrameDecoder decoder(waypost::limits::kMaxRequestBytes);
  std::string body;
  while (!rest.empty()) {
    const std::string_view now = rest.substr(0, piece);
    rest.remove_prefix(now.size());
    const bool good = decoder.feed(now).ok();
    while (decoder.next(&body)) {
      waypost::rpc::Envelope envelope;
      if (envelope.ParseFromString(body)) (void)envelope.ByteSizeLong();
    }
    WAYPOST_CHECK(!good || decoder.held_bytes() <= waypost::limits::kMaxRequestBytes + 8,
                  "more than a frame is held");
    if (!good) break;
  }
  return 0;
}
