import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** The file system of a directory, and whether a home is safe on it. */
export interface FileSystem {
  /** Its common name, or its number if it is unknown. */
  readonly name: string;
  /**
   * `unsafe`: machines share it, and its locks or shared memory do not meet SQLite's needs, so two schedulers could write one database.
   * `depends`: on the underlying storage.
   */
  readonly safety: "safe" | "depends" | "unsafe";
}

/** Magic numbers of Linux's statfs(2). */
const KNOWN: ReadonlyMap<number, readonly [name: string, safety: FileSystem["safety"]]> = new Map([
  [0xef53, ["ext4", "safe"]],
  [0x9123683e, ["Btrfs", "safe"]],
  [0x58465342, ["XFS", "safe"]],
  [0x2fc12fc1, ["ZFS", "safe"]],
  [0xf2f52010, ["F2FS", "safe"]],
  [0x794c7630, ["overlayfs", "safe"]],
  [0x01021994, ["tmpfs", "safe"]],
  [0x6969, ["NFS", "unsafe"]],
  [0x517b, ["SMB", "unsafe"]],
  [0xff534d42, ["CIFS", "unsafe"]],
  [0xfe534d42, ["SMB2", "unsafe"]],
  [0x01021997, ["9P", "unsafe"]],
  [0x5346414f, ["AFS", "unsafe"]],
  [0x6b414653, ["AFS", "unsafe"]],
  [0x73757245, ["Coda", "unsafe"]],
  [0x564c, ["NCP", "unsafe"]],
  [0x786f4256, ["a VirtualBox shared folder", "unsafe"]],
  [0x7c7c6673, ["a Parallels shared folder", "unsafe"]],
  [0xbacbacbc, ["a VMware shared folder", "unsafe"]],
  // virtiofs has the number of FUSE.
  [0x65735546, ["FUSE", "depends"]],
  [0x00c36400, ["Ceph", "depends"]],
  [0x0bd00bd0, ["Lustre", "depends"]],
  [0x47504653, ["GPFS", "depends"]],
  [0x19830326, ["BeeGFS", "depends"]],
  [0x20030528, ["OrangeFS", "depends"]],
  [0x01161970, ["GFS2", "depends"]],
  [0x7461636f, ["OCFS2", "depends"]],
]);

/** statfs(2); tests pass their own. */
export type Statfs = (path: string) => { readonly type: number };

/**
 * The file system that a directory is on, or will be on once it exists. Only Linux numbers its file systems. All others count as safe, and so
 * does one that cannot be queried, since opening a file there fails anyway.
 */
export function fileSystemOf(directory: string, statfs: Statfs = statfsSync): FileSystem {
  if (process.platform !== "linux") return { name: process.platform, safety: "safe" };
  try {
    // Some systems return the 32 bits as a signed number.
    const type = statfs(existing(directory)).type >>> 0;
    const [name, safety] = KNOWN.get(type) ?? [`0x${type.toString(16)}`, "safe"];
    return { name, safety };
  } catch {
    return { name: "unknown", safety: "safe" };
  }
}

/** With less free space, in bytes, SQLite cannot extend its shared-memory file, which grows in steps of this size. */
const FULL_BYTES = 32 * 1024;

/** Why nothing can be written in a directory, as far as can be known without trying; undefined if there is no known reason. */
export function unwritable(directory: string): "read_only" | "forbidden" | "full" | undefined {
  const path = existing(directory);
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS" ? "read_only" : "forbidden";
  }
  try {
    const { blocks, bavail, bsize } = statfsSync(path);
    // Some file systems report no blocks.
    return blocks > 0 && bavail * bsize < FULL_BYTES ? "full" : undefined;
  } catch {
    return undefined;
  }
}

/** The path, or its nearest ancestor that exists. */
function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}
