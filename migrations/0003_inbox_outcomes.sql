-- What became of the inbox rows that the session's owner took: the record that a message turned into, or that of its refusal with the
-- refusal itself (JSON with code, message and hint). A table of its own, because every version reads the waiting rows from `inbox`.
CREATE TABLE inbox_outcomes (
  session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  refusal TEXT,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
