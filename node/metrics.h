// What Prometheus scrapes. The order thread sets the values once a second; text() may be called by any
// thread.
#pragma once

#include <memory>
#include <string>

namespace waypost::node {

struct Parts;

class Metrics {
 public:
  Metrics();
  ~Metrics();

  // On the order thread.
  void sample(const Parts& parts, size_t connections);
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::node
