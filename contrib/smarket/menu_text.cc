// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/menu_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "contrib/smarket/output.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMenuBarWidth = 24;

struct Row {
  Time completion = 0;
  Money price;
};

Money amount_at(const Json& row, const char* key) {
  const std::string text = row.value(key, std::string());
  const bool negative = text.starts_with('-');
  const Money money = Money::parse(text.substr(negative ? 1 : 0)).value_or(Money());
  return negative ? Money() - money : money;
}

std::vector<Row> rows_of(const Json& menu) {
  std::vector<Row> rows;
  for (const Json& row : menu.at("rows"))
    rows.push_back({row.at("completes").get<Time>(), amount_at(row, "price")});
  return rows;
}

std::string price_text(Money price) {
  return price == Money() ? "free" : enough_text(price);
}

/// A bar of eighths of a character, as long as `part` of the width.
std::string bar(double part) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kMenuBarWidth * 8 + 0.5);
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

/// Where a picture puts a time and a price.
struct Picture {
  static constexpr double kWidth = 640, kHeight = 360, kLeft = 80, kRight = 20, kTop = 20,
                          kBottom = 50;
  Time first = 0, last = 0;
  double dearest = 0;
  double x(Time time) const {
    const auto span = static_cast<double>(std::max<Time>(last - first, 1));
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(time - first) / span;
  }
  double y(double price) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (dearest > 0 ? price / dearest : 0);
  }
};

std::string steps(const std::vector<Row>& rows, const Picture& picture) {
  std::string path;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double x = picture.x(rows[i].completion), y = picture.y(rows[i].price.credits());
    path += i == 0 ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format(" H{:.1f} V{:.1f}", x, y);
  }
  return path + fmt::format(" H{:.1f}", Picture::kWidth - Picture::kRight);
}

}  // namespace

std::string menu_text(const Json& menu, Time now) {
  const std::vector<Row> rows = rows_of(menu);
  const bool is_valued = menu.at("rows").front().contains("worth");
  std::vector<Table::Column> columns{{"ROW", true}, {"DONE BY", false}, {"PRICE", true}};
  if (is_valued) columns.insert(columns.end(), {{"WORTH TO YOU", true}, {"LEFT TO YOU", true}});
  columns.push_back({"", false});
  Table table(columns);
  const auto longest = static_cast<double>(std::max<Time>(rows.back().completion - now, 1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = menu.at("rows")[i];
    std::vector<std::string> fields{fmt::to_string(i + 1),
                                    format_time_short(rows[i].completion, now),
                                    price_text(rows[i].price)};
    if (is_valued) {
      fields.push_back(there_is_text(amount_at(row, "worth")));
      const Money left = amount_at(row, "left");
      fields.push_back(left < Money() ? "-" + enough_text(Money() - left) : there_is_text(left));
    }
    fields.push_back(bar(static_cast<double>(rows[i].completion - now) / longest));
    table.add(std::move(fields));
  }
  const std::size_t shown = menu.value("best", rows.size());
  const std::string job_class = menu.value("class", std::string());
  std::string text =
      fmt::format("menu {}{}{}, good until {}\n{}", menu.at("menu").get<std::string>(),
                  job_class.empty() ? "" : " of class ", job_class,
                  format_time_short(menu.at("good_until").get<Time>(), now), table.text());
  if (is_valued && !menu.contains("best")) text += "No row costs less than it is worth to you.\n";
  return text + fmt::format(
                    "Take one with the same options: sbatch --quote={}:{} …   "
                    "If it is late you pay less, never more.\n",
                    menu.at("menu").get<std::string>(), shown);
}

namespace {

std::string number_text(const Json& number) {
  const double mean = number.at("mean").get<double>();
  const double deviation = number.at("deviation").get<double>();
  const std::string of = number.at("of").get<std::string>();
  if (of == "unit value") return fmt::format("{:.2g} ± {:.2g} a billing-hour", mean, deviation);
  const auto minutes = [](double seconds) { return fmt::format("{:.0f}", seconds / 60); };
  return fmt::format("{} {} ± {} min", of == "slack" ? "due" : of, minutes(mean),
                     minutes(deviation));
}

std::string spread_text(const Json& entry) {
  if (entry.at("prior").get<bool>()) return "too few bids: made up";
  std::string text;
  for (const Json& number : entry.at("spread"))
    text += (text.empty() ? "" : ", ") + number_text(number);
  return text + " after the limit";
}

}  // namespace

std::string classes_text(const Json& answer) {
  Table table({{"MARKET", false},
               {"CLASS", false},
               {"SHAPE", false},
               {"SAMPLES", true},
               {"SPREAD", false}});
  for (const Json& entry : answer.at("classes")) {
    table.add({entry.at("market"), entry.at("class"), entry.at("shape"),
               entry.at("prior").get<bool>() ? "-" : fmt::to_string(entry.at("samples").get<int>()),
               spread_text(entry)});
  }
  return table.text();
}

std::string menu_svg(const Json& menu, Time now) {
  const std::vector<Row> rows = rows_of(menu);
  const Picture picture{now, rows.back().completion, rows.front().price.credits()};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<title>menu {2}: price over completion</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<path d=\"M{3} {4} V{5} H{6}\" fill=\"none\" stroke=\"black\"/>\n",
      Picture::kWidth, Picture::kHeight, menu.at("menu").get<std::string>(), Picture::kLeft,
      Picture::kTop, Picture::kHeight - Picture::kBottom, Picture::kWidth - Picture::kRight);
  svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\"/>\n",
                     steps(rows, picture));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    svg += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"#0072b2\"><title>row {2}: done by "
        "{3} "
        "for {4}</title></circle>\n",
        picture.x(rows[i].completion), picture.y(rows[i].price.credits()), i + 1,
        format_time_short(rows[i].completion, now), price_text(rows[i].price));
  }
  const double below = Picture::kHeight - Picture::kBottom + 20;
  svg += fmt::format(
      "<text x=\"{0}\" y=\"{1}\" text-anchor=\"start\">now</text>\n"
      "<text x=\"{2}\" y=\"{1}\" text-anchor=\"end\">{3}</text>\n"
      "<text x=\"{4}\" y=\"{5}\" text-anchor=\"end\">{6}</text>\n"
      "<text x=\"{4}\" y=\"{7}\" text-anchor=\"end\">0</text>\n</svg>\n",
      Picture::kLeft, below, Picture::kWidth - Picture::kRight,
      format_time_short(rows.back().completion, now), Picture::kLeft - 8, Picture::kTop + 10,
      price_text(rows.front().price), Picture::kHeight - Picture::kBottom);
  return svg;
}

}  // namespace market::smarket
