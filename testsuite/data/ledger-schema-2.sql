-- SPDX-License-Identifier: GPL-2.0-or-later
-- A ledger as schema 2 left it: a deposit, a bill with a refund, an open lien.
PRAGMA application_id = 1397574484;
PRAGMA user_version = 2;
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
CREATE TABLE member (
  account  INTEGER NOT NULL REFERENCES account (id),
  user     TEXT NOT NULL CHECK (user <> ''),
  PRIMARY KEY (account, user)
) STRICT, WITHOUT ROWID;
INSERT INTO member VALUES(3,'ann');
INSERT INTO member VALUES(3,'bob');
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
  lien           INTEGER REFERENCES transfer (id), bid TEXT NOT NULL DEFAULT '',
  CHECK (status = 'open' OR lien IS NULL)
) STRICT;
INSERT INTO segment VALUES(1,'c1:7:1799999900:0','c1',7,1799999900,0,0,0,1001,'ann','physics','main','COMPLETED','era/1','cpu=4,mem=4096','late',1799999940,1800000060,1799999940,1800000000,0,60,4.0,15000000,12000000,3500000,'settled',NULL,'');
INSERT INTO segment VALUES(2,'c1:8:1799999900:0','c1',8,1799999900,0,0,0,0,'ann','physics','main','','era/1','','',0,0,0,0,0,0,0.0,20000000,0,0,'open',3,'');
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
, cluster TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
INSERT INTO bid VALUES('c1:1',1799999900,1799999900,1800003600,120,'cpu=4,mem=4096',15.0,'main','physics',1001,1,15000000,'era/1','');
CREATE TABLE seed ( id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL CHECK (length(value) = 64) ) STRICT;
INSERT INTO seed VALUES(1,'00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF');
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
COMMIT;
