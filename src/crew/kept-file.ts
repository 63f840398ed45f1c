import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The path of a kept artifact; undefined if it is not a local file. URIs are relative to the home; older ones are absolute. */
export function pathOf(uri: string, home: string): string | undefined {
  if (uri.startsWith("file://")) return fileURLToPath(uri);
  return uri === "" || /^[a-z][a-z0-9+.-]*:/i.test(uri) ? undefined : join(home, uri);
}
