// Commands from iproute2's words, for tests that read like an operator's session.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/transaction.h"
#include "tests/store/harness.h"

namespace waypost::store {

// None where the line is no command; `wrong` then says why.
std::optional<Command> command_of(std::string_view line, bool cascade, std::string* wrong = nullptr);

// Every row in iproute2's words, interned ones last and indented.
std::string rows_in_words(const ReadView& view);

// Removes every row by the commands a client has.
void clear(TestStore& store);

}  // namespace waypost::store
