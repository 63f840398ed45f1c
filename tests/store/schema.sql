CREATE INDEX artifacts_by_session ON artifacts (session, sequence);

CREATE INDEX inbox_by_session ON inbox (session, id);

CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;

CREATE TABLE artifacts (
  artifact INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  subject TEXT,
  label TEXT NOT NULL,
  uri TEXT NOT NULL,
  path TEXT NOT NULL,
  digest TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  content_type TEXT
) STRICT;

CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  body TEXT NOT NULL,
  actor TEXT NOT NULL,
  put_at TEXT NOT NULL
) STRICT;

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE records (
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  sequence INTEGER NOT NULL CHECK (sequence > 0),
  payload_type TEXT NOT NULL,
  subject TEXT,
  hash TEXT NOT NULL,
  line TEXT NOT NULL,
  PRIMARY KEY (session, sequence)
) STRICT;

CREATE TABLE sessions (
  session INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE COLLATE NOCASE,
  mode TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'created',
  outcome TEXT CHECK (outcome IN ('done', 'failed', 'cancelled')),
  exit_code INTEGER,
  requirement TEXT,
  workspace TEXT NOT NULL,
  parent TEXT COLLATE NOCASE REFERENCES sessions (session_id) ON DELETE SET NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  last_sequence INTEGER NOT NULL DEFAULT 0,
  head TEXT NOT NULL,
  published INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  owner_pid INTEGER,
  owner_host TEXT,
  owner_started_at TEXT
) STRICT;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE state (
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (session, collection, id)
) STRICT, WITHOUT ROWID;

CREATE VIEW asks AS
SELECT session_id, id AS ask_id, value FROM state JOIN sessions USING (session) WHERE collection = 'ask';

CREATE VIEW tickets AS
SELECT
  session_id,
  id AS ticket_id,
  value ->> '$.status' AS status,
  value ->> '$.reason' AS reason,
  value ->> '$.owner' AS owner,
  value ->> '$.attempt' AS attempt,
  value
FROM state JOIN sessions USING (session)
WHERE collection = 'ticket';

CREATE VIEW timers AS
SELECT session_id, id AS timer_id, value FROM state JOIN sessions USING (session) WHERE collection = 'timer';

CREATE VIEW turns AS
SELECT session_id, id AS turn_id, value FROM state JOIN sessions USING (session) WHERE collection = 'turn';
