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
, ticket TEXT AS (subject) VIRTUAL) STRICT;

CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  body TEXT NOT NULL,
  actor TEXT NOT NULL,
  put_at TEXT NOT NULL
) STRICT;

CREATE TABLE inbox_outcomes (
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  refusal TEXT,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

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
, roles TEXT) STRICT;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE state (
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (session, collection, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER bind_roles AFTER INSERT ON records WHEN new.sequence = 1 BEGIN
  UPDATE sessions SET roles = (SELECT roles FROM session_roles WHERE session = new.session) WHERE session = new.session;
END;

CREATE VIEW asks AS
SELECT session_id, id AS ask_id, value FROM state JOIN sessions USING (session) WHERE collection = 'ask';

CREATE VIEW session_roles AS
SELECT
  session,
  json_group_array(json_patch('{}', json_object(
    'role_id', role.value ->> '$.role_id',
    'type', role.value ->> '$.type',
    'backend', coalesce(role.value ->> '$.backend', 'cli'),
    'dialect', role.value ->> '$.dialect',
    'model', role.value ->> '$.model',
    'cli_command', role.value -> '$.cli_command'
  ))) AS roles
FROM records, json_each(line, '$.payload.roles') AS role
WHERE sequence = 1
GROUP BY session;

CREATE VIEW tickets AS
WITH
  ticket AS MATERIALIZED (
    SELECT session, id AS ticket_id, value, value ->> '$.task[0]' AS plan, value ->> '$.task[1]' AS pointer
    FROM state WHERE collection = 'ticket'
  ),
  plan AS MATERIALIZED (
    SELECT session, sequence, line -> '$.payload.tasks' AS tasks, line -> '$.payload.plan.tasks' AS edited
    FROM (SELECT DISTINCT session, plan AS sequence FROM ticket) JOIN records USING (session, sequence)
  ),
  task AS MATERIALIZED (
    SELECT session, sequence, '/tasks/' || task.key AS pointer, task.value FROM plan, json_each(tasks) AS task
    UNION ALL
    SELECT session, sequence, '/plan/tasks/' || task.key, task.value FROM plan, json_each(edited) AS task
  ),
  record AS MATERIALIZED (
    SELECT
      session, sequence, payload_type, line ->> '$.record.received_at' AS at, line ->> '$.source' AS source,
      line ->> '$.record.attempt' AS attempt,
      line -> '$.record.effects' AS effects
    FROM records
  ),
  effect AS MATERIALIZED (
    SELECT session, sequence, effect.key AS place, cast(effect.value ->> '$.ticket_id' AS TEXT) AS ticket_id, effect.value AS effect
    FROM record, json_each(effects) AS effect
  ),
  -- The messages about a ticket that did not move it, such as a proposal.
  message AS (
    SELECT session, ticket_id, cast(message.value AS INTEGER) AS sequence
    FROM ticket, json_each(ticket.value, '$.history') AS message
    EXCEPT
    SELECT session, ticket_id, sequence FROM effect
  ),
  event AS (
    SELECT session, sequence, place, ticket_id, effect FROM effect
    UNION ALL
    SELECT session, sequence, 0, ticket_id, NULL FROM message
  ),
  history AS MATERIALIZED (
    SELECT session, ticket_id, json_group_array(json(entry)) AS history
    FROM (
      SELECT session, ticket_id, json_patch('{}', json_object(
        'sequence', sequence,
        'at', at,
        'payload_type', payload_type,
        'source', source,
        'event', effect ->> '$.event',
        'from', effect ->> '$.from',
        'to', effect ->> '$.to',
        'reason', effect ->> '$.reason',
        'attempt', attempt
      )) AS entry
      FROM event JOIN record USING (session, sequence)
      ORDER BY session, ticket_id, sequence, place
    )
    GROUP BY session, ticket_id
  )
SELECT
  session_id,
  ticket.ticket_id,
  coalesce(task.value ->> '$.task_id', ticket.ticket_id) AS task_id,
  task.value ->> '$.description' AS description,
  ticket.value -> '$.depends_on' AS dependencies,
  ticket.value ->> '$.status' AS status,
  ticket.value ->> '$.reason' AS reason,
  ticket.value ->> '$.owner' AS owner,
  ticket.value ->> '$.attempt' AS attempts,
  task.value -> '$.expected_outputs' AS expected_outputs,
  coalesce(history, '[]') AS history
FROM ticket
JOIN sessions USING (session)
LEFT JOIN task ON task.session = ticket.session AND task.sequence = ticket.plan AND task.pointer = ticket.pointer
LEFT JOIN history ON history.session = ticket.session AND history.ticket_id = ticket.ticket_id
ORDER BY ticket.session, ticket.value ->> '$.order';

CREATE VIEW timers AS
SELECT session_id, id AS timer_id, value FROM state JOIN sessions USING (session) WHERE collection = 'timer';

CREATE VIEW turns AS
SELECT session_id, id AS turn_id, value FROM state JOIN sessions USING (session) WHERE collection = 'turn';
