// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/cache_questions.hh"

#include <memory>

#include <fmt/format.h>

#include "base/contains.hh"
#include "plugin_oss/opaque.hh"

namespace xec {

bool IsHeadQuestion(std::string_view question) { return question.substr(0, question.find('\0')) == "head"; }

std::optional<std::string> PathOfHeadQuestion(std::string_view question) {
  question = question.substr(0, question.find('\0'));
  const size_t mark = question.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  if (!Contains(OpaqueValues(question.substr(mark + 1), "code"), "head")) return std::nullopt;
  return std::string(question.substr(0, mark));
}

std::string CacheControl(std::string_view tag) {
  return fmt::format(R"({{"ETag":"{}","revalidate":true}})", tag);
}

char* AnswerOf(std::string_view text) {
  auto answer = std::make_unique<char[]>(text.size() + 1);
  text.copy(answer.get(), text.size());
  return answer.release();
}

}  // namespace xec
