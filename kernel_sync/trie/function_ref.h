// FunctionRef: a borrowed callable, two words, no allocation. A parameter type for callbacks that are
// called before the function they are passed to returns; never stored.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace waypost::kernel_sync {

template <typename Signature>
class FunctionRef;

template <typename Return, typename... Arguments>
class FunctionRef<Return(Arguments...)> {
 public:
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
      FunctionRef(Callable&& callable)  // NOLINT: implicit on purpose, so that a lambda can be passed
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Return {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Return operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Return (*call_)(void*, Arguments...);
};

}  // namespace waypost::kernel_sync
