-- SPDX-License-Identifier: GPL-2.0-or-later
-- A ledger as schema 4 left it: as that of schema 3, with a bid of a class.
PRAGMA application_id = 1397574484;
PRAGMA user_version = 4;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO account VALUES(1,'@treasury',1,'source of deposits',0,-100000000,0);
INSERT INTO account VALUES(2,'@revenue',1,'income of the cluster',0,8500000,0);
INSERT INTO account VALUES(3,'physics',0,'solid state',1799990000,91500000,20000000);
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
, cluster TEXT NOT NULL DEFAULT '', observation INTEGER REFERENCES observation (id), class TEXT NOT NULL DEFAULT '', falls INTEGER NOT NULL DEFAULT 0 CHECK (falls >= 0), zero INTEGER NOT NULL DEFAULT 0 CHECK (zero >= 0), work REAL NOT NULL DEFAULT 0 CHECK (work >= 0)) STRICT, WITHOUT ROWID;
INSERT INTO bid VALUES('c1:1',1799999900,1799999900,1800003600,120,'cpu=4,mem=4096',15.0,'main','physics',1001,1,15000000,'era/1','c1',NULL,'',0,0,0.0);
INSERT INTO bid VALUES('c1:2',1799999960,1799999960,1800003600,120,'cpu=2',4.0,'main','physics',1002,1,1000000,'contracts/3','c1',1,'urgent',600,1200,2.5);
INSERT INTO bid VALUES('refused:c1:00499999:1001',1799999950,1799999950,1800003600,120,'cpu=4,mem=4096',9.0,'main','physics',1001,0,15000000,'era/1','c1',NULL,'',0,0,0.0);
CREATE TABLE member (
  account  INTEGER NOT NULL REFERENCES account (id),
  user     TEXT NOT NULL CHECK (user <> ''),
  PRIMARY KEY (account, user)
) STRICT, WITHOUT ROWID;
INSERT INTO member VALUES(3,'ann');
INSERT INTO member VALUES(3,'bob');
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
CREATE TABLE observation (
  id       INTEGER PRIMARY KEY,
  cluster  TEXT NOT NULL,
  market   TEXT NOT NULL,
  began    INTEGER NOT NULL,
  ended    INTEGER
) STRICT;
INSERT INTO observation VALUES(1,'c1','shadow',1799990000,NULL);
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
CREATE TABLE seed (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  value  TEXT NOT NULL CHECK (length(value) = 64)
) STRICT;
INSERT INTO seed VALUES(1,'5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED5EED');
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
  lien           INTEGER REFERENCES transfer (id), bid TEXT NOT NULL DEFAULT '', time_limit INTEGER NOT NULL DEFAULT 0,
  CHECK (status = 'open' OR lien IS NULL)
) STRICT;
INSERT INTO segment VALUES(1,'c1:7:1799999900:0','c1',7,1799999900,0,0,0,1001,'ann','physics','main','COMPLETED','era/1','cpu=4,mem=4096','late',1799999940,1800000060,1799999940,1800000000,0,60,4.0,15000000,12000000,3500000,'settled',NULL,'',0);
INSERT INTO segment VALUES(2,'c1:8:1799999900:0','c1',8,1799999900,0,0,0,0,'ann','physics','main','','era/1','','',0,0,0,0,0,0,0.0,20000000,0,0,'open',3,'',0);
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
INSERT INTO transfer VALUES(1,'deposit:1',1799990000,'deposit',1,3,100000000,NULL,NULL,'Q4 grant');
INSERT INTO transfer VALUES(2,'c1:7:1799999900:0:lien',1800000000,'lien',3,2,15000000,NULL,1,'');
INSERT INTO transfer VALUES(3,'c1:8:1799999900:0:lien',1800000000,'lien',3,2,20000000,NULL,2,'');
INSERT INTO transfer VALUES(4,'c1:7:1799999900:0:charge',1800000000,'charge',3,2,12000000,2,1,'late');
INSERT INTO transfer VALUES(5,'c1:7:1799999900:0:refund',1800000000,'refund',2,3,3500000,NULL,1,'late');
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
CREATE INDEX segment_job ON segment (job_id);
CREATE INDEX segment_array ON segment (array_job_id);
CREATE INDEX segment_end ON segment ("end");
CREATE INDEX segment_lien ON segment (lien) WHERE lien IS NOT NULL;
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
CREATE INDEX bid_submitted ON bid (submitted);
CREATE UNIQUE INDEX observation_open ON observation (cluster, market) WHERE ended IS NULL;
CREATE INDEX observed_end ON observed ("end");
CREATE INDEX observed_observation ON observed (observation);
CREATE INDEX ask_node ON ask (cluster, node, id);
CREATE INDEX ask_time ON ask (cluster, time);
CREATE TRIGGER ask_update BEFORE UPDATE ON ask
BEGIN SELECT RAISE (ABORT, 'asks are never changed'); END;
CREATE TRIGGER ask_delete BEFORE DELETE ON ask
BEGIN SELECT RAISE (ABORT, 'asks are never deleted'); END;
CREATE INDEX node_income_end ON node_income (cluster, "end");
CREATE INDEX resold_rest ON resold (rest);
CREATE INDEX resold_sale ON resold (sale);
COMMIT;
