import type { Database } from "./database.ts";
import type { ArtifactRow } from "./store.ts";

type Row = Omit<ArtifactRow, "subject" | "content_type"> & {
  readonly subject: string | null;
  readonly content_type: string | null;
};

/** The rows of `artifacts`: files that were kept, and the records that brought them. */
export function artifactQueries(database: Database) {
  const insert = database.prepare<[Row & { session: number }]>(
    `INSERT INTO artifacts (session, sequence, subject, label, uri, path, digest, size_bytes, content_type)
     VALUES (:session, :sequence, :subject, :label, :uri, :path, :digest, :size_bytes, :content_type)`,
  );
  const bySession = database.prepare<[number], Row>(
    `SELECT sequence, subject, label, uri, path, digest, size_bytes, content_type FROM artifacts
     WHERE session = ? ORDER BY sequence, artifact`,
  );

  return {
    insert(session: number, artifact: ArtifactRow): void {
      const { subject = null, content_type = null } = artifact;
      insert.run({ ...artifact, session, subject, content_type });
    },
    bySession: (session: number): ArtifactRow[] =>
      bySession.all(session).map(({ subject, content_type, ...rest }) => ({
        ...rest,
        ...(subject === null ? {} : { subject }),
        ...(content_type === null ? {} : { content_type }),
      })),
  };
}
