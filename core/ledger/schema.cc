// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace market::ledger {
namespace {

/// "SMKT": tells a ledger from any other SQLite file.
constexpr std::int64_t kApplicationId = 0x534d4b54;
constexpr mode_t kOwnerOnly = 0600;

// core/ledger/README.md explains each table.
constexpr const char* kSchema1 = R"sql(
CREATE TABLE account (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64),
  system   INTEGER NOT NULL DEFAULT 0 CHECK (system IN (0, 1)),
  note     TEXT NOT NULL DEFAULT '',
  created  INTEGER NOT NULL,
  posted   INTEGER NOT NULL DEFAULT 0,
  liens    INTEGER NOT NULL DEFAULT 0 CHECK (liens >= 0),
  CHECK (system = 1 OR name NOT GLOB '@*')
) STRICT;
INSERT INTO account (id, name, system, note, created) VALUES
  (1, '@treasury', 1, 'source of deposits', 0),
  (2, '@revenue', 1, 'income of the cluster', 0);

CREATE TABLE member (
  account  INTEGER NOT NULL REFERENCES account (id),
  user     TEXT NOT NULL CHECK (user <> ''),
  PRIMARY KEY (account, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE segment (
  id             INTEGER PRIMARY KEY,
  key            TEXT NOT NULL UNIQUE,
  cluster        TEXT NOT NULL,
  job_id         INTEGER NOT NULL,
  submitted      INTEGER NOT NULL,
  restart        INTEGER NOT NULL,
  array_job_id   INTEGER NOT NULL,
  array_task_id  INTEGER NOT NULL,
  uid            INTEGER NOT NULL,
  user           TEXT NOT NULL,
  account        TEXT NOT NULL,
  partition      TEXT NOT NULL,
  state          TEXT NOT NULL,
  mechanism      TEXT NOT NULL,
  tres           TEXT NOT NULL,
  note           TEXT NOT NULL,
  planned_start  INTEGER NOT NULL,
  promised_end   INTEGER NOT NULL,
  start          INTEGER NOT NULL,
  "end"          INTEGER NOT NULL,
  suspended      INTEGER NOT NULL,
  elapsed        INTEGER NOT NULL,
  billing        REAL NOT NULL,
  quoted         INTEGER NOT NULL CHECK (quoted >= 0),
  charged        INTEGER NOT NULL DEFAULT 0 CHECK (charged >= 0),
  refunded       INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND charged),
  status         TEXT NOT NULL CHECK (status IN ('open', 'settled', 'voided')),
  lien           INTEGER REFERENCES transfer (id),
  CHECK (status = 'open' OR lien IS NULL)
) STRICT;
CREATE INDEX segment_job ON segment (job_id);
CREATE INDEX segment_array ON segment (array_job_id);
CREATE INDEX segment_end ON segment ("end");
CREATE INDEX segment_lien ON segment (lien) WHERE lien IS NOT NULL;

CREATE TABLE transfer (
  id        INTEGER PRIMARY KEY,
  key       TEXT NOT NULL UNIQUE,
  time      INTEGER NOT NULL,
  kind      TEXT NOT NULL
            CHECK (kind IN ('deposit', 'withdraw', 'transfer', 'lien', 'charge', 'void', 'refund')),
  debit     INTEGER NOT NULL REFERENCES account (id),
  credit    INTEGER NOT NULL REFERENCES account (id),
  amount    INTEGER NOT NULL CHECK (amount >= 0),
  resolves  INTEGER UNIQUE REFERENCES transfer (id),
  segment   INTEGER REFERENCES segment (id),
  note      TEXT NOT NULL DEFAULT '',
  CHECK (debit <> credit),
  CHECK (amount > 0 OR kind IN ('lien', 'charge', 'void')),
  CHECK (resolves IS NULL OR kind IN ('charge', 'void')),
  CHECK (resolves IS NOT NULL OR kind <> 'void'),
  CHECK ((segment IS NULL) = (kind IN ('deposit', 'withdraw', 'transfer')))
) STRICT;
CREATE INDEX transfer_debit ON transfer (debit, time);
CREATE INDEX transfer_credit ON transfer (credit, time);
CREATE INDEX transfer_segment ON transfer (segment);
CREATE TRIGGER transfer_update BEFORE UPDATE ON transfer
BEGIN SELECT RAISE (ABORT, 'transfers are never changed'); END;
CREATE TRIGGER transfer_delete BEFORE DELETE ON transfer
BEGIN SELECT RAISE (ABORT, 'transfers are never deleted'); END;
CREATE TRIGGER transfer_resolves BEFORE INSERT ON transfer WHEN NEW.resolves IS NOT NULL
BEGIN
  SELECT RAISE (ABORT, 'a resolving transfer must fit its lien') WHERE NOT EXISTS (
    SELECT 1 FROM transfer AS lien
    WHERE lien.id = NEW.resolves AND lien.kind = 'lien' AND lien.segment = NEW.segment
      AND lien.debit = NEW.debit AND lien.credit = NEW.credit AND lien.amount >= NEW.amount);
END;

CREATE TABLE bid (
  id         TEXT PRIMARY KEY,
  submitted  INTEGER NOT NULL,
  earliest   INTEGER NOT NULL,
  deadline   INTEGER NOT NULL,
  duration   INTEGER NOT NULL,
  tres       TEXT NOT NULL,
  value      REAL NOT NULL,
  partition  TEXT NOT NULL,
  account    TEXT NOT NULL,
  uid        INTEGER NOT NULL,
  accepted   INTEGER NOT NULL CHECK (accepted IN (0, 1)),
  price      INTEGER NOT NULL,
  mechanism  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bid_submitted ON bid (submitted);
)sql";

// Runs are known by their bid too; of older ones the bid is not known. Bids are learned from by
// their own cluster; older ones do not tell theirs and teach every cluster. The seed is what all draws
// come from where market.conf names none; it is drawn once, by the system's generator.
constexpr const char* kSchema2 = R"sql(
ALTER TABLE segment ADD COLUMN bid TEXT NOT NULL DEFAULT '';
ALTER TABLE bid ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
CREATE TABLE seed (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  value  TEXT NOT NULL CHECK (length(value) = 64)
) STRICT;
INSERT INTO seed (id, value) VALUES (1, hex(randomblob(32)));
)sql";

// What markets that only observe would have done, apart from all that is money: the columns of a
// segment, and what tells who would have waited how long.
// Asks are a history: the last one of a node holds. What a run brought each of its nodes' owners
// stands beside the transfers, which are by account.
constexpr const char* kSchema3 = R"sql(
CREATE TABLE observation (
  id       INTEGER PRIMARY KEY,
  cluster  TEXT NOT NULL,
  market   TEXT NOT NULL,
  began    INTEGER NOT NULL,
  ended    INTEGER
) STRICT;
CREATE UNIQUE INDEX observation_open ON observation (cluster, market) WHERE ended IS NULL;
CREATE TABLE observed (
  id             INTEGER PRIMARY KEY,
  key            TEXT NOT NULL UNIQUE,
  observation    INTEGER NOT NULL REFERENCES observation (id),
  status         TEXT NOT NULL CHECK (status IN ('billed', 'refused')),
  waited         INTEGER NOT NULL CHECK (waited >= 0),
  would_wait     INTEGER CHECK (would_wait >= 0),
  cluster        TEXT NOT NULL,
  job_id         INTEGER NOT NULL,
  submitted      INTEGER NOT NULL,
  restart        INTEGER NOT NULL,
  array_job_id   INTEGER NOT NULL,
  array_task_id  INTEGER NOT NULL,
  uid            INTEGER NOT NULL,
  user           TEXT NOT NULL,
  account        TEXT NOT NULL,
  partition      TEXT NOT NULL,
  state          TEXT NOT NULL,
  mechanism      TEXT NOT NULL,
  tres           TEXT NOT NULL,
  note           TEXT NOT NULL,
  planned_start  INTEGER NOT NULL,
  promised_end   INTEGER NOT NULL,
  start          INTEGER NOT NULL,
  "end"          INTEGER NOT NULL,
  suspended      INTEGER NOT NULL,
  elapsed        INTEGER NOT NULL,
  billing        REAL NOT NULL,
  quoted         INTEGER NOT NULL CHECK (quoted >= 0),
  charged        INTEGER NOT NULL CHECK (charged >= 0),
  refunded       INTEGER NOT NULL CHECK (refunded BETWEEN 0 AND charged),
  bid            TEXT NOT NULL,
  time_limit     INTEGER NOT NULL
) STRICT;
CREATE INDEX observed_end ON observed ("end");
CREATE INDEX observed_observation ON observed (observation);
ALTER TABLE bid ADD COLUMN observation INTEGER REFERENCES observation (id);
ALTER TABLE segment ADD COLUMN time_limit INTEGER NOT NULL DEFAULT 0;
CREATE TABLE ask (
  id       INTEGER PRIMARY KEY,
  token    TEXT NOT NULL CHECK (token <> ''),
  time     INTEGER NOT NULL,
  cluster  TEXT NOT NULL,
  node     TEXT NOT NULL,
  account  TEXT NOT NULL,
  price    INTEGER NOT NULL CHECK (price >= 0),
  tres     TEXT NOT NULL,
  uid      INTEGER NOT NULL,
  UNIQUE (token, node)
) STRICT;
CREATE INDEX ask_node ON ask (cluster, node, id);
CREATE INDEX ask_time ON ask (cluster, time);
CREATE TRIGGER ask_update BEFORE UPDATE ON ask
BEGIN SELECT RAISE (ABORT, 'asks are never changed'); END;
CREATE TRIGGER ask_delete BEFORE DELETE ON ask
BEGIN SELECT RAISE (ABORT, 'asks are never deleted'); END;

CREATE TABLE node_income (
  segment      INTEGER NOT NULL REFERENCES segment (id),
  node         TEXT NOT NULL,
  account      TEXT NOT NULL,
  cluster      TEXT NOT NULL,
  "end"        INTEGER NOT NULL,
  asked        INTEGER NOT NULL CHECK (asked >= 0),
  earned       INTEGER NOT NULL CHECK (earned >= 0),
  cpu_seconds  INTEGER NOT NULL CHECK (cpu_seconds >= 0),
  PRIMARY KEY (segment, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_income_end ON node_income (cluster, "end");
)sql";

// The class of a bid, and what its shape needs beside value and deadline: a sigmoid's drop and zero
// in seconds after the bid, the units of work of a recurrent job.
constexpr const char* kSchema4Classes = R"sql(
ALTER TABLE bid ADD COLUMN class TEXT NOT NULL DEFAULT '';
ALTER TABLE bid ADD COLUMN falls INTEGER NOT NULL DEFAULT 0 CHECK (falls >= 0);
ALTER TABLE bid ADD COLUMN zero INTEGER NOT NULL DEFAULT 0 CHECK (zero >= 0);
ALTER TABLE bid ADD COLUMN work REAL NOT NULL DEFAULT 0 CHECK (work >= 0);
)sql";

// What is bought and not used waits for its resale (core/ledger/rests.cc).
constexpr const char* kSchema4Rests = R"sql(
CREATE TABLE rest (
  segment  INTEGER PRIMARY KEY REFERENCES segment (id),
  market   TEXT NOT NULL,
  made     INTEGER NOT NULL
) STRICT;
CREATE TABLE resold (
  id       INTEGER PRIMARY KEY,
  rest     INTEGER NOT NULL REFERENCES rest (segment),
  sale     TEXT NOT NULL CHECK (sale <> ''),
  begin    INTEGER NOT NULL,
  "end"    INTEGER NOT NULL CHECK ("end" > begin),
  billing  REAL NOT NULL CHECK (billing >= 0),
  amount   INTEGER NOT NULL CHECK (amount >= 0)
) STRICT;
CREATE INDEX resold_rest ON resold (rest);
CREATE INDEX resold_sale ON resold (sale);
)sql";

// What utilities are learned from (core/ledger/utility_runs.cc).
constexpr const char* kSchema5 = R"sql(
CREATE TABLE utility_run (
  id       INTEGER PRIMARY KEY,
  key      TEXT NOT NULL UNIQUE CHECK (key <> ''),
  cluster  TEXT NOT NULL,
  market   TEXT NOT NULL,
  uid      INTEGER NOT NULL,
  name     TEXT NOT NULL CHECK (name <> ''),
  ended    INTEGER NOT NULL,
  seconds  REAL NOT NULL CHECK (seconds > 0),
  shares   TEXT NOT NULL CHECK (shares <> '')
) STRICT;
CREATE INDEX utility_run_name ON utility_run (cluster, market, uid, name, ended);
)sql";

std::string owner_of(const struct stat& file) {
  const passwd* entry = getpwuid(file.st_uid);
  return entry != nullptr ? entry->pw_name : fmt::format("uid {}", file.st_uid);
}

/// Why the file cannot be used at all, said before SQLite says it less clearly.
void require_access(const std::string& path, Mode mode) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    if (errno == ENOENT) throw Failure{fmt::format("{}: no such database", path)};
    if (errno == EACCES)
      throw Failure{
          fmt::format("{}: permission denied: only its owner and root may read the books", path)};
    throw Failure{fmt::format("{}: {}", path, std::strerror(errno))};
  }
  if (!S_ISREG(file.st_mode)) throw Failure{fmt::format("{}: not a file", path)};
  if (access(path.c_str(), R_OK) != 0) {
    throw Failure{
        fmt::format("{}: permission denied: only its owner {} and root may read the books", path,
                    owner_of(file))};
  }
  if (mode != Mode::kReadOnly && access(path.c_str(), W_OK) != 0) {
    throw Failure{fmt::format("{}: {}: only its owner {} and root may change the books", path,
                              errno == EROFS ? "read-only file system" : "read-only",
                              owner_of(file))};
  }
}

/// Makes an empty file of its owner's alone; an existing one stays as it is (closing it would drop
/// locks on it).
void create_empty(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (file < 0) {
    if (errno == EEXIST) return;
    throw Failure{fmt::format("{}: cannot be made: {}", path, std::strerror(errno))};
  }
  fchmod(file, kOwnerOnly);
  close(file);
}

void copy_beside(Database& database, std::int64_t schema) {
  const std::string copy = fmt::format("{}.schema-{}", database.path(), schema);
  const std::string unfinished = fmt::format("{}.{}", copy, getpid());
  unlink(unfinished.c_str());
  create_empty(unfinished);
  database.prepare("VACUUM INTO ?").bind(std::string_view(unfinished)).run();
  if (std::rename(unfinished.c_str(), copy.c_str()) != 0) {
    throw Failure{fmt::format("{}: cannot be made: {}", copy, std::strerror(errno))};
  }
}

bool is_empty(Database& database) {
  return database.integer("SELECT count(*) FROM sqlite_schema") == 0;
}

void upgrade(Database& database, const SchemaSteps& steps) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  const auto newest = static_cast<std::int64_t>(steps.size());
  for (auto schema = database.integer("PRAGMA user_version"); schema < newest; ++schema) {
    database.execute(steps[static_cast<std::size_t>(schema)]);
  }
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, newest));
  transaction.commit();
}

void bring_up_to_date(Database& database, Mode mode, const SchemaSteps& steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  const std::int64_t application = database.integer("PRAGMA application_id");
  const std::int64_t schema = database.integer("PRAGMA user_version");
  if (application == kApplicationId && schema == newest) return;
  if (application != kApplicationId) {
    if (mode != Mode::kCreate || application != 0 || !is_empty(database)) {
      throw Failure{fmt::format("{}: not a ledger", database.path())};
    }
    database.execute("PRAGMA journal_mode = WAL");
    return upgrade(database, steps);
  }
  if (schema > newest) {
    throw Failure{fmt::format("{}: has schema {}, newer than {}, the newest this program knows",
                              database.path(), schema, newest)};
  }
  if (mode == Mode::kReadOnly) {
    throw Failure{
        fmt::format("{}: has schema {}, this program needs {}: `smarket check` upgrades it",
                    database.path(), schema, newest)};
  }
  copy_beside(database, schema);
  upgrade(database, steps);
}

}  // namespace

const SchemaSteps& schema_steps() {
  static const std::string kSchema4 = std::string(kSchema4Classes) + kSchema4Rests;
  static const SchemaSteps steps = {kSchema1, kSchema2, kSchema3, kSchema4, kSchema5};
  return steps;
}

std::unique_ptr<Database> open_database(const std::string& path, Mode mode,
                                        const SchemaSteps& steps) {
  if (path.empty()) throw Failure{"no database is named"};
  if (path != ":memory:") {
    if (mode == Mode::kCreate) create_empty(path);
    require_access(path, mode);
  }
  auto database = std::make_unique<Database>(
      path, mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  database->execute(
      "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
  bring_up_to_date(*database, mode, steps);
  return database;
}

}  // namespace market::ledger
