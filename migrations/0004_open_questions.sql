-- Asks know which of their questions are open and which record holds their text, and turns when they were requested. These values get what the rules
-- of this version would have stored.

UPDATE state AS ask SET value = json_set(value, '$.open', json(coalesce(
  (
    SELECT json_group_array(question.value)
    FROM state AS questions, json_each(questions.value, '$.questions') AS question
    WHERE questions.session = ask.session AND questions.collection = 'question' AND questions.id = ask.id
      AND json_extract(questions.value, '$.answers[' || question.key || ']') IS NULL
    GROUP BY questions.id
  ),
  -- The engine's own question about a turn in doubt.
  '["again"]'
)))
WHERE collection = 'ask' AND value ->> '$.kind' = 'questions';

UPDATE state AS ask SET value = json_set(value, '$.record', (
  SELECT max(sequence)
  FROM records
  WHERE records.session = ask.session AND payload_type = 'approval_request' AND line ->> '$.payload.ask_id' = ask.id
))
WHERE collection = 'ask' AND value ->> '$.kind' = 'approval' AND EXISTS (
  SELECT 1
  FROM records
  WHERE records.session = ask.session AND payload_type = 'approval_request' AND line ->> '$.payload.ask_id' = ask.id
);

UPDATE state AS turn SET value = json_patch(value, coalesce((
  SELECT json_object('since', line ->> '$.record.received_at')
  FROM records
  WHERE records.session = turn.session AND payload_type = 'turn_request' AND line ->> '$.record.turn_id' = turn.id
  ORDER BY sequence DESC
  LIMIT 1
), '{}'))
WHERE collection = 'turn';
