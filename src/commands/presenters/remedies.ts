import type { Fault } from "../../log/verify.ts";
import type { SessionRow } from "../../store/store.ts";

/** Whose log it is, where a home knows it, and whether somebody runs that session. */
interface Whose {
  readonly row: SessionRow | undefined;
  readonly isHeld: boolean;
}

const FOLDER_ALONE =
  "A folder alone cannot be mended. The home of its session has every record in the database: there `bosun replay SESSION --verify` says what to do.";

/** What to do about what is wrong with a log, or beside it. */
export function remedyOf(fault: Fault, { row, isHeld }: Whose): string {
  const resume = row && `\`bosun resume ${row.session_id}\`${isHeld ? ", once nobody runs the session," : ""}`;
  switch (fault) {
    case "missing":
      return resume ? `${resume} writes what is missing again from the database.` : FOLDER_ALONE;
    case "changed":
      return resume
        ? `Move away the files of records that are not as they were written, and keep them as evidence: ${resume} then writes those of the database.`
        : FOLDER_ALONE;
    case "ahead":
      return resume
        ? `The database is of an earlier moment than the log: put the newer one back. To go on from the earlier moment, move the log folder away: ${resume} then writes it again.`
        : FOLDER_ALONE;
    case "report":
      return resume ? `${resume} writes both files of the report again from the database.` : FOLDER_ALONE;
    case "foreign":
      return "Move away what does not belong there.";
    case "kept":
      return "Of a kept file only the digest is in the log: put a copy of it in its place, if there is one.";
    case "decided":
      return "The chain around it is right. Either somebody has made the log anew, or this is a bug of Bosun's: please report it with the log folder of the session.";
  }
}
