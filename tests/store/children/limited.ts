// Says of each database that it is given which of its files this process may not let grow, if one.
import { limitedFile } from "../../../src/store/file-size.ts";

console.log(JSON.stringify(process.argv.slice(2).map((database) => limitedFile(database)?.path ?? null)));
