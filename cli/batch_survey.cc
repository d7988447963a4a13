#include "cli/batch_survey.h"

namespace waypost::cli {
namespace {

constexpr size_t kMostOthersListed = 1'000;

void look_at(std::span<const Word> words, BatchSurvey& survey) {
  // Nearly every line of a large file, without asking for abbreviations.
  if (words.size() > 1 && (words[0].text == "route" || words[0].text == "nexthop") &&
      (words[1].text == "add" || words[1].text == "replace")) {
    ++survey.lines;
    return;
  }
  const std::variant<ObjectVerb, ParseError> parsed = parse_object_verb(words);
  const auto* known = std::get_if<ObjectVerb>(&parsed);
  if (known == nullptr) return;
  if (known->object == ObjectVerb::Object::kOther) {
    ++survey.other_lines;
    if (survey.others.size() < kMostOthersListed)
      survey.others.push_back({.line = words[0].line, .column = words[0].column, .object = known->other});
    return;
  }
  ++(known->verb <= ObjectVerb::Verb::kDelete ? survey.lines : survey.reading_lines);
}

}  // namespace

Result<BatchSurvey> survey_batch(InputFile& file) {
  BatchSurvey survey;
  BatchReader reader;
  bool readable = true;
  const auto visit = [&](const BatchReader::Line& line) { look_at(line.words, survey); };
  Status status = file.read([&](std::string_view piece) {
    readable = reader.feed(piece, visit).ok();
    return readable;
  });
  if (!status.ok()) return status.error();
  if (readable) (void)reader.finish(visit);
  return survey;
}

}  // namespace waypost::cli
