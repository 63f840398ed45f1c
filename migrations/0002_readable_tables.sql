-- For people with a database browser; the program does not read what is added here.

-- Which roles the session has and what fills each: from its first record, which nothing changes later.
ALTER TABLE sessions ADD COLUMN roles TEXT;

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

UPDATE sessions SET roles = (SELECT roles FROM session_roles WHERE session_roles.session = sessions.session);

CREATE TRIGGER bind_roles AFTER INSERT ON records WHEN new.sequence = 1 BEGIN
  UPDATE sessions SET roles = (SELECT roles FROM session_roles WHERE session = new.session) WHERE session = new.session;
END;

-- What the artifact belongs to, by the word of people.
ALTER TABLE artifacts ADD COLUMN ticket TEXT AS (subject) VIRTUAL;

-- The state of a ticket holds places instead of texts: [sequence, JSON pointer]. Here they are resolved. Each record is parsed once for
-- all tickets, so the view takes as long as the log is, whatever the number of tickets.
DROP VIEW tickets;

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
