// Rows and commands to iproute2's words.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/parse.h"
#include "model/parse/lines.h"

namespace waypost {
namespace {

constexpr uint8_t kRtaxRtt = 4;
constexpr uint8_t kRtaxRttvar = 5;
constexpr uint8_t kRtaxFeatures = 12;
constexpr uint8_t kRtaxRtoMin = 13;
constexpr uint8_t kRtaxCongestionControl = 16;
constexpr uint8_t kRtaxLast = 17;
constexpr uint8_t kPreferenceHigh = 1;
constexpr uint8_t kPreferenceLow = 3;

// `show` prints what a host derives too, a command only what `ip` takes.
enum class Form : uint8_t { kShow, kCommand };

// Words with one space between them.
class Words {
 public:
  template <typename... Parts>
  Words& add(const Parts&... parts) {
    if (!text_.empty()) text_ += ' ';
    (append(parts), ...);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void append(std::string_view text) { text_.append(text); }
  void append(const IpAddress& address) {
    char text[45];
    text_.append(text, write_address(address, text));
  }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void append(Integer number) {
    char text[24];
    text_.append(text, std::to_chars(text, text + sizeof(text), number).ptr);
  }

  std::string text_;
};

std::string hexadecimal(uint8_t byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

void add_encap(Words& words, const EncapIp& encap) {
  const bool ipv4 = encap.family == Family::kIpv4;
  words.add("encap ", ipv4 ? "ip" : "ip6", " id ", encap.id);
  words.add("src ", encap.source).add("dst ", encap.destination);
  words.add(ipv4 ? "ttl " : "hoplimit ", encap.ttl).add(ipv4 ? "tos " : "tc ", hexadecimal(encap.tos));
  if ((encap.flags & 0x04) != 0) words.add("key");
  if ((encap.flags & 0x01) != 0) words.add("csum");
  if ((encap.flags & 0x08) != 0) words.add("seq");
}

void add_encap(Words& words, const EncapSeg6& encap) {
  static constexpr std::string_view kModes[] = {"inline", "encap", "l2encap", "encap.red", "l2encap.red"};
  words.add("encap seg6 mode ", encap.mode < std::size(kModes) ? kModes[encap.mode] : "unknown");
  std::string segments;
  for (const IpAddress& segment : encap.segments) {
    if (!segments.empty()) segments += ',';
    segments += to_string(segment);
  }
  words.add("segs ", segments);
  if (encap.hmac != 0) words.add("hmac ", encap.hmac);
}

// `family` is that of the route or nexthop: a gateway of another one is written with its own.
void add_way(Words& words, const Nexthop& nexthop, Family family) {
  if (const auto* ip = std::get_if<EncapIp>(&nexthop.encap)) add_encap(words, *ip);
  if (const auto* seg6 = std::get_if<EncapSeg6>(&nexthop.encap)) add_encap(words, *seg6);
  if (nexthop.gateway) {
    if (nexthop.gateway->family == family)
      words.add("via ", *nexthop.gateway);
    else
      words.add("via ", nexthop.gateway->family == Family::kIpv4 ? "inet " : "inet6 ", *nexthop.gateway);
  }
  if (!nexthop.device.empty()) words.add("dev ", nexthop.device);
}

// `via ::` is no gateway, and says that the nexthop is IPv6.
Nexthop with_unspecified_gateway(Nexthop nexthop) {
  nexthop.gateway = IpAddress{.family = Family::kIpv6};
  return nexthop;
}

// Seconds, with the decimals that are there.
std::string seconds(uint32_t centiseconds) {
  std::string text = std::to_string(centiseconds / 100);
  const uint32_t rest = centiseconds % 100;
  if (rest == 0) return text;
  text += '.';
  text += static_cast<char>('0' + rest / 10);
  if (rest % 10 != 0) text += static_cast<char>('0' + rest % 10);
  return text;
}

void add_group(Words& words, const NexthopGroup& group) {
  std::string members;
  for (const GroupMember& member : group.members) {
    if (!members.empty()) members += '/';
    members += std::to_string(member.id.value());
    if (member.weight != 1) members += "," + std::to_string(member.weight);
  }
  words.add("group ", members);
  if (group.type != GroupType::kResilient) return;
  words.add("type resilient");
  if (group.resilient.buckets != 0) words.add("buckets ", group.resilient.buckets);
  words.add("idle_timer ", seconds(group.resilient.idle_timer_cs));
  words.add("unbalanced_timer ", seconds(group.resilient.unbalanced_timer_cs));
}

void add_nexthop(Words& words, const NexthopObject& object, const NameTables& names, Form form) {
  if (object.id.value() != 0) words.add("id ", object.id.value());
  const Nexthop* single = object.is_group() ? nullptr : &object.nexthop();
  if (single == nullptr)
    add_group(words, object.group());
  else if (form == Form::kCommand && single->family == Family::kIpv6 && !single->gateway &&
           !single->blackhole)
    add_way(words, with_unspecified_gateway(*single), single->family);
  else
    add_way(words, *single, single->family);
  const uint8_t scope = derived_scope(object);
  if (form == Form::kShow && scope != kScopeGlobal) words.add("scope ", names.scopes.text(scope));
  if (single != nullptr && single->blackhole) words.add("blackhole");
  if (object.protocol != 0) words.add("proto ", names.protocols.text(object.protocol));
  if (single != nullptr && single->onlink) words.add("onlink");
  if (single != nullptr ? single->fdb : object.group().fdb) words.add("fdb");
}

// "default" has the family of the first gateway behind it, else IPv4: a command writes the prefix where that
// is not meant.
std::string prefix_word(const Prefix& prefix, std::span<const InlinePath> paths, Form form) {
  const bool ipv4 = prefix.family() == Family::kIpv4;
  const auto has_ipv6_gateway = [](const InlinePath& path) {
    return path.nexthop.gateway && path.nexthop.gateway->family == Family::kIpv6;
  };
  const bool is_meant = ipv4 && std::none_of(paths.begin(), paths.end(), has_ipv6_gateway);
  if (prefix.length == 0 && (is_meant || form == Form::kShow)) return "default";
  return prefix.length == address_bits(prefix.family()) ? to_string(prefix.address) : to_string(prefix);
}

// As `ip` prints times, but such that reading gives the same value: what is no whole millisecond stays a
// number of the kernel's unit, and seconds with decimals are written only where binary fractions do not round
// them up.
std::string time_text(uint32_t value, uint32_t scale) {
  if (value % scale != 0) return std::to_string(value);
  const uint32_t milliseconds = value / scale;
  if (milliseconds < 1000) return std::to_string(milliseconds) + "ms";
  std::string text = std::to_string(milliseconds / 1000);
  std::string decimals = std::to_string(1000 + milliseconds % 1000).substr(1);
  while (!decimals.empty() && decimals.back() == '0') decimals.pop_back();
  if (!decimals.empty()) text += "." + decimals;
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return std::ceil(read * 1000) == milliseconds ? text + "s" : std::to_string(milliseconds) + "ms";
}

std::string metric_text(uint8_t number, uint32_t value) {
  if (number == kRtaxRtt) return time_text(value, 8);
  if (number == kRtaxRttvar) return time_text(value, 4);
  if (number == kRtaxRtoMin) return time_text(value, 1);
  if (number == kRtaxFeatures) return "ecn";
  return std::to_string(value);
}

void add_metrics(Words& words, const RouteMetrics& metrics, Form form) {
  auto next = metrics.values.begin();
  for (uint8_t number = 2; number <= kRtaxLast; ++number) {
    const bool locked = (metrics.lock >> number & 1) != 0;
    const bool has_value = next != metrics.values.end() && next->first == number;
    const uint32_t value = has_value ? (next++)->second : 0;
    const bool is_name = number == kRtaxCongestionControl;
    if (!locked && (is_name ? metrics.congestion_control.empty() : !has_value)) continue;
    // `ip` takes no lock with rto_min: it is always locked.
    const bool says_lock = locked && !(number == kRtaxRtoMin && form == Form::kCommand);
    words.add(route_metric_name(number), says_lock ? " lock " : " ",
              is_name ? metrics.congestion_control : metric_text(number, value));
  }
}

void add_route(Words& words, const Route& route, std::span<const InlinePath> paths, const NameTables& names,
               Form form) {
  const Family family = route.key.prefix.family();
  const bool ipv4 = family == Family::kIpv4;
  const InlinePath* only = paths.size() == 1 && paths[0].weight == 1 ? &paths[0] : nullptr;
  if (route.type != RouteType::kUnicast) words.add(to_string(route.type));
  words.add(prefix_word(route.key.prefix, paths, form));
  if (route.key.tos != 0) words.add("tos ", hexadecimal(route.key.tos));
  if (route.nexthop.value() != 0) words.add("nhid ", route.nexthop.value());
  if (only != nullptr) add_way(words, only->nexthop, family);
  if (route.key.table != kMainTable) words.add("table ", names.tables.text(route.key.table.value()));
  if (route.protocol != kProtocolBoot) words.add("proto ", names.protocols.text(route.protocol));
  // `ip` leaves global out, and takes link for what has a device only.
  const bool link_by_default = ipv4 && only != nullptr && !only->nexthop.gateway;
  if (route.scope != kScopeGlobal || link_by_default) words.add("scope ", names.scopes.text(route.scope));
  if (route.prefsrc) words.add("src ", *route.prefsrc);
  if (route.key.metric != 0) words.add("metric ", route.key.metric);
  if (only != nullptr && only->nexthop.onlink) words.add("onlink");
  add_metrics(words, route.metrics, form);
  if (route.preference == kPreferenceHigh) words.add("pref high");
  if (route.preference == kPreferenceLow) words.add("pref low");
  if (form == Form::kShow && !ipv4 && route.preference == 0) words.add("pref medium");
  if (only != nullptr) return;
  for (const InlinePath& path : paths) {
    words.add("nexthop");
    add_way(words, path.nexthop, family);
    if (form == Form::kShow || path.weight != 1) words.add("weight ", path.weight);
    if (path.nexthop.onlink) words.add("onlink");
  }
}

// ---- Commands.

std::string_view verb_word(Verb verb) {
  switch (verb) {
    case Verb::kAdd:
      return "add";
    case Verb::kReplace:
      return "replace";
    case Verb::kChange:
      return "change";
    case Verb::kAppend:
      return "append";
    case Verb::kPrepend:
      return "prepend";
  }
  return "unknown";
}

void add_command(Words& words, const PutNexthop& command, const NameTables& names) {
  words.add("nexthop ", verb_word(command.verb));
  add_nexthop(words, command.object, names, Form::kCommand);
}

void add_command(Words& words, const DeleteNexthop& command, const NameTables&) {
  words.add("nexthop del id ", command.id.value());
}

void add_command(Words& words, const PutRoute& command, const NameTables& names) {
  words.add("route ", verb_word(command.verb));
  add_route(words, command.route, command.paths, names, Form::kCommand);
}

void add_command(Words& words, const DeleteRoute& command, const NameTables& names) {
  const Family family = command.prefix.family();
  words.add("route del");
  if (command.type) words.add(to_string(*command.type));
  words.add(prefix_word(command.prefix, command.paths, Form::kCommand));
  if (command.tos != 0) words.add("tos ", hexadecimal(command.tos));
  if (command.nexthop) words.add("nhid ", command.nexthop->value());
  const bool one = command.paths.size() == 1 && command.paths[0].weight == 1;
  if (one) add_way(words, command.paths[0].nexthop, family);
  if (command.table != kMainTable) words.add("table ", names.tables.text(command.table.value()));
  if (command.protocol) words.add("proto ", names.protocols.text(*command.protocol));
  if (command.scope) words.add("scope ", names.scopes.text(*command.scope));
  if (command.prefsrc) words.add("src ", *command.prefsrc);
  if (command.metric) words.add("metric ", *command.metric);
  if (one && command.paths[0].nexthop.onlink) words.add("onlink");
  for (const InlinePath& path : command.paths) {
    if (one) break;
    words.add("nexthop");
    add_way(words, path.nexthop, family);
    if (path.weight != 1) words.add("weight ", path.weight);
    if (path.nexthop.onlink) words.add("onlink");
  }
}

void add_command(Words& words, const GuardedNexthop& command, const NameTables& names) {
  if (!command.value) return add_command(words, DeleteNexthop{.id = command.id, .cascade = false}, names);
  add_command(words, PutNexthop{.verb = Verb::kReplace, .object = *command.value}, names);
}

void add_command(Words& words, const GuardedRoute& command, const NameTables& names) {
  if (command.value)
    return add_command(
        words, PutRoute{.verb = Verb::kReplace, .route = *command.value, .paths = command.paths}, names);
  DeleteRoute deleted;
  deleted.table = command.key.table;
  deleted.prefix = command.key.prefix;
  deleted.tos = command.key.tos;
  deleted.metric = command.key.metric;
  add_command(words, deleted, names);
}

}  // namespace

std::string nexthop_words(const NexthopObject& object, const NameTables& names) {
  Words words;
  add_nexthop(words, object, names, Form::kShow);
  return words.take();
}

std::string route_words(const Route& route, std::span<const InlinePath> paths, const NameTables& names) {
  Words words;
  add_route(words, route, paths, names, Form::kShow);
  return words.take();
}

std::string command_words(const Command& command, const NameTables& names) {
  Words words;
  std::visit([&](const auto& alternative) { add_command(words, alternative, names); }, command);
  return words.take();
}

}  // namespace waypost
