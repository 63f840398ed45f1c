-- Asks know which of their questions are open and which record holds their text, and turns when they were requested. These values get what the rules
-- of this version would have stored. Readers of a database that is not migrated yet use the view (`showMigrated` in store/migrate.ts).
CREATE TEMP VIEW told AS
SELECT
  session,
  collection,
  id,
  CASE
    WHEN collection = 'ask' AND value ->> '$.kind' = 'questions' THEN json_set(value, '$.open', json(coalesce(
      (
        SELECT json_group_array(question.value)
        FROM main.state AS questions, json_each(questions.value, '$.questions') AS question
        WHERE questions.session = row.session AND questions.collection = 'question' AND questions.id = row.id
          AND json_extract(questions.value, '$.answers[' || question.key || ']') IS NULL
        GROUP BY questions.id
      ),
      -- The engine's own question about a turn in doubt.
      '["again"]'
    )))
    WHEN collection = 'ask' AND value ->> '$.kind' = 'approval' THEN json_set(value, '$.record', coalesce(
      (
        SELECT max(sequence)
        FROM main.records
        WHERE records.session = row.session AND payload_type = 'approval_request' AND line ->> '$.payload.ask_id' = row.id
      ),
      value -> '$.record'
    ))
    WHEN collection = 'turn' THEN json_patch(value, coalesce(
      (
        SELECT json_object('since', line ->> '$.record.received_at')
        FROM main.records
        WHERE records.session = row.session AND payload_type = 'turn_request' AND line ->> '$.record.turn_id' = row.id
        ORDER BY sequence DESC
        LIMIT 1
      ),
      '{}'
    ))
    ELSE value
  END AS value
FROM main.state AS row;

UPDATE main.state AS stored SET value = told.value
FROM told
WHERE told.collection IN ('ask', 'turn')
  AND told.session = stored.session AND told.collection = stored.collection AND told.id = stored.id;

DROP VIEW temp.told;
