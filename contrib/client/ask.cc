// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/ask.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "contrib/client/complain.h"

extern "C" void slurm_free_will_run_response_msg(void* msg);

namespace market::client {
namespace {

constexpr std::uint32_t kQueryMinutes = 1;

/// While it lives, what the process writes to stderr goes into memory: libslurm prints the text of
/// a refused call there and hands out an error number only.
class StderrCapture {
 public:
  StderrCapture() : saved_(dup(STDERR_FILENO)), memory_(memfd_create("stderr", MFD_CLOEXEC)) {
    if (saved_ >= 0 && memory_ >= 0) dup2(memory_, STDERR_FILENO);
  }
  ~StderrCapture() {
    restore();
    if (memory_ >= 0) close(memory_);
  }
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;

  std::string text() {
    restore();
    std::string text;
    if (memory_ < 0 || lseek(memory_, 0, SEEK_SET) != 0) return text;
    char buffer[4096];
    for (ssize_t count; (count = read(memory_, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }
  int saved_;
  int memory_;
};

/// The answer in what came back, be it the message itself or log lines around it.
Result<nlohmann::json> find_answer(std::string_view text) {
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("ok")) return json;
  }
  return fail("no answer");
}

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const std::size_t newline = text.find_last_of('\n');
  return std::string(newline == text.npos ? text : text.substr(newline + 1));
}

/// The smallest job there is; only its environment matters. slurmctld looks at it and forgets it.
struct DummyJob {
  job_desc_msg_t description;
  std::string query;
  // What a site's own job_submit plugin may demand of each job.
  std::string script = "#!/bin/sh\n", account;
  std::string name = "smarket", folder = "/", host = "localhost", partition;
  char* environment[2];

  explicit DummyJob(const nlohmann::json& question)
      : query("_SLURM_SPANK_OPTION_market_query=" +
              question.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    char own_name[256] = "";
    if (gethostname(own_name, sizeof own_name - 1) == 0 && own_name[0] != '\0') host = own_name;
    environment[0] = query.data();
    environment[1] = nullptr;
    slurm_init_job_desc_msg(&description);
    description.user_id = getuid();
    description.group_id = getgid();
    description.name = name.data();
    description.work_dir = folder.data();
    description.alloc_node = host.data();
    // A partition may have a default memory of its own.
    partition = question.value("partition", "");
    if (!partition.empty()) description.partition = partition.data();
    account = question.value("account", "");
    if (account.empty()) account = name;
    description.account = account.data();
    description.script = script.data();
    description.min_cpus = 1;
    description.num_tasks = 1;
    description.time_limit = kQueryMinutes;
    description.spank_job_env = environment;
    description.spank_job_env_size = 1;
  }
  DummyJob(const DummyJob&) = delete;
  DummyJob& operator=(const DummyJob&) = delete;
};

/// While libslurm reads slurm.conf; where it finds none it ends the process by itself.
StderrCapture* reading_conf = nullptr;

void complain_of_conf() {
  if (reading_conf == nullptr) return;
  const std::string said = last_line(reading_conf->text());
  constexpr std::string_view kFatal = "fatal: ";
  const std::size_t fatal = said.find(kFatal);
  complain({"slurmctld cannot be asked: " +
            (fatal == said.npos ? said : said.substr(fatal + kFatal.size()))},
           1);
}

void read_slurm_conf() {
  static const bool registered = std::atexit(complain_of_conf) == 0;
  StderrCapture capture;
  if (registered) reading_conf = &capture;
  slurm_init(nullptr);
  reading_conf = nullptr;
}

struct Reply {
  int code = 0;         ///< Slurm's error number, 0 on success
  std::string message;  ///< the plugins' message
  std::string log;      ///< what libslurm printed
};

Reply call_slurmctld(const nlohmann::json& query) {
  Reply reply;
  read_slurm_conf();
  StderrCapture capture;
  DummyJob job(query);
  will_run_response_msg_t* response = nullptr;
  if (slurm_job_will_run2(&job.description, &response) != SLURM_SUCCESS) reply.code = errno;
  if (response != nullptr) {
    if (response->job_submit_user_msg != nullptr) reply.message = response->job_submit_user_msg;
    slurm_free_will_run_response_msg(response);
  }
  reply.log = capture.text();
  return reply;
}

}  // namespace

Result<nlohmann::json> hear_market(const nlohmann::json& query) {
  const Reply reply = call_slurmctld(query);
  auto answer = find_answer(reply.message);
  if (!answer) answer = find_answer(reply.log);
  if (answer) return answer;
  if (reply.code == 0)
    return fail("the market does not answer: slurmctld runs without JobSubmitPlugins=market");
  const std::string said = last_line(reply.log);
  return fail(fmt::format("slurmctld cannot be asked: {}{}", slurm_strerror(reply.code),
                          said.empty() ? "" : " (" + said + ")"));
}

Result<nlohmann::json> ask_market(const nlohmann::json& query) {
  auto answer = hear_market(query);
  if (!answer || answer->value("ok", false)) return answer;
  return fail(answer->value("error", std::string("the market gives no reason")));
}

}  // namespace market::client
