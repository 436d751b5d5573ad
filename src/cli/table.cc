#include "cli/table.h"

#include <algorithm>

#include "base/utf8.h"

namespace semel::cli {
namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

void pad(std::string& out, std::string_view cell, std::size_t width) {
  out += cell;
  const std::size_t used = width_of(cell);
  if (used < width) out.append(width - used, ' ');
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  if (width == 0) return {};
  std::size_t at = 0;
  for (std::size_t left = width - 1; at < text.size(); ++at) {
    if (!starts_character(text[at])) continue;
    if (left == 0) break;
    --left;
  }
  return text.substr(0, at) + "…";
}

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : base::sanitize_utf8(text, text.size() * 3)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out.push_back(c);
      continue;
    }
    static constexpr char kHex[] = "0123456789abcdef";
    out += "\\x";
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

std::string Table::print() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows_) {
    auto& printed = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      printed.push_back(plain(row[i]));
      widths[i] = std::max(widths[i], width_of(printed.back()));
    }
  }
  std::string out;
  for (const auto& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i + 1 == row.size()) line += row[i];
      else pad(line, row[i], widths[i] + 2);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

Lines& Lines::add(std::string name, std::string value) {
  lines_.emplace_back(std::move(name), std::move(value));
  return *this;
}

Lines& Lines::add_if(std::string name, std::string value) {
  return value.empty() ? *this : add(std::move(name), std::move(value));
}

std::string Lines::print() const {
  std::size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, width_of(name));
  std::string out;
  for (const auto& [name, value] : lines_) {
    pad(out, name, width + 2);
    out += plain(value) + "\n";
  }
  return out;
}

}  // namespace semel::cli
