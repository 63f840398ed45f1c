import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The path of a kept artifact; undefined for one that is no file here. Addresses begin from the home; older ones are complete. */
export function pathOf(uri: string, home: string): string | undefined {
  if (uri.startsWith("file://")) return fileURLToPath(uri);
  return uri === "" || /^[a-z][a-z0-9+.-]*:/i.test(uri) ? undefined : join(home, uri);
}
