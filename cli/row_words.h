// Rows and states of rows in a few words, for errors, `fib status` and tables.
#pragma once

#include <string>
#include <string_view>

namespace waypost::rpc {
class RowReport;
}

namespace waypost::cli {

// "pending": the number is kernel_sync's RowState.
std::string_view state_word(uint32_t state);
// "route 10.0.0.0/8" or "nexthop 7": what the report is about.
std::string report_object(const rpc::RowReport& report);
// "route 10.0.0.0/8: pending, device eth7 does not exist"
std::string report_words(const rpc::RowReport& report);

// "3 s", "12 min", "2 days": how long something is ago.
std::string age_words(uint64_t milliseconds);
// "2023-11-05T07:01:02Z"
std::string time_words(uint64_t microseconds_since_1970);
// The first eight digits of an id or a digest, which is what people compare.
std::string short_hex(std::string_view bytes);
std::string full_hex(std::string_view bytes);

}  // namespace waypost::cli
