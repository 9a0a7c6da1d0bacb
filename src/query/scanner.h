// What the small languages of queries share (query/expression.h, query/formula.h): tokens with
// their places, texts in quotes, and the first thing that is wrong. What a word or a sign is, each
// language says for itself, in its advance().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "query/expression.h"

namespace tidewire {

class Scanner {
 protected:
  struct Token {
    enum class Kind : uint8_t { kWord, kNumber, kQuoted, kSign, kEnd } kind = Kind::kEnd;
    std::string_view text;  // quoted: without the quotes
    uint32_t at = 0;
  };

  Scanner(std::string_view text, ExpressionError& error) : text_(text), error_(error) {}

  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void fail(uint32_t at, std::string text) {
    if (failed_) return;  // the first cause; what follows is its echo
    failed_ = true;
    error_ = {at, std::move(text)};
    token_ = {Token::Kind::kEnd, {}, static_cast<uint32_t>(text_.size())};
  }
  std::string_view rest() const { return text_.substr(at_); }
  // The next so many characters are the token.
  void give(Token::Kind kind, size_t size) {
    token_ = {kind, text_.substr(at_, size), static_cast<uint32_t>(at_)};
    at_ += size;
  }
  // Skips white space. True: that was all that the language has to say: the end, a text in quotes,
  // or something wrong. Else rest() begins with another character.
  bool next_is_common() {
    if (failed_) return true;
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != text_.npos) ++at_;
    const auto start = static_cast<uint32_t>(at_);
    if (at_ == text_.size()) {
      give(Token::Kind::kEnd, 0);
      return true;
    }
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    const size_t close = text_.find(quote, at_ + 1);
    if (close == std::string_view::npos) {
      fail(start, "the quote is not closed");
      return true;
    }
    token_ = {Token::Kind::kQuoted, text_.substr(at_ + 1, close - at_ - 1), start};
    at_ = close + 1;
    return true;
  }
  // The next character begins nothing.
  void refuse(std::string_view where) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    fail(static_cast<uint32_t>(at_),
         byte > 0x20 && byte < 0x7F
             ? "'" + std::string(1, text_[at_]) + "' has no meaning " + std::string(where)
             : std::string("only printable ASCII is allowed outside of quotes"));
  }
  std::string found() const {
    return token_.kind == Token::Kind::kEnd ? "the end" : "'" + std::string(token_.text) + "'";
  }

  std::string_view text_;
  ExpressionError& error_;
  size_t at_ = 0;
  Token token_;
  bool failed_ = false;
};

}  // namespace tidewire
