import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** What a directory lies on, and whether a home may lie there. */
export interface FileSystem {
  /** As people know it; a number where this program does not. */
  readonly name: string;
  /**
   * `refused`: machines share it, and locks or shared memory do not work on it as SQLite needs them, so that two schedulers could
   * write one database. `doubted`: that depends on what is behind it.
   */
  readonly standing: "good" | "doubted" | "refused";
}

/** The numbers of Linux's statfs(2). */
const KNOWN: ReadonlyMap<number, readonly [name: string, standing: FileSystem["standing"]]> = new Map([
  [0xef53, ["ext4", "good"]],
  [0x9123683e, ["Btrfs", "good"]],
  [0x58465342, ["XFS", "good"]],
  [0x2fc12fc1, ["ZFS", "good"]],
  [0xf2f52010, ["F2FS", "good"]],
  [0x794c7630, ["overlayfs", "good"]],
  [0x01021994, ["tmpfs", "good"]],
  [0x6969, ["NFS", "refused"]],
  [0x517b, ["SMB", "refused"]],
  [0xff534d42, ["CIFS", "refused"]],
  [0xfe534d42, ["SMB2", "refused"]],
  [0x01021997, ["9P", "refused"]],
  [0x5346414f, ["AFS", "refused"]],
  [0x6b414653, ["AFS", "refused"]],
  [0x73757245, ["Coda", "refused"]],
  [0x564c, ["NCP", "refused"]],
  [0x786f4256, ["a VirtualBox shared folder", "refused"]],
  [0x7c7c6673, ["a Parallels shared folder", "refused"]],
  [0xbacbacbc, ["a VMware shared folder", "refused"]],
  // virtiofs, too, gives the number of FUSE.
  [0x65735546, ["FUSE", "doubted"]],
  [0x00c36400, ["Ceph", "doubted"]],
  [0x0bd00bd0, ["Lustre", "doubted"]],
  [0x47504653, ["GPFS", "doubted"]],
  [0x19830326, ["BeeGFS", "doubted"]],
  [0x20030528, ["OrangeFS", "doubted"]],
  [0x01161970, ["GFS2", "doubted"]],
  [0x7461636f, ["OCFS2", "doubted"]],
]);

/** Asks the system for the type of a file system; tests answer in its place. */
export type Statfs = (path: string) => { readonly type: number };

/**
 * What a directory lies on, or will lie on once it is made. Only Linux has numbers that mean something; elsewhere every one is
 * good. A directory that cannot be looked at is left to whoever opens a file in it.
 */
export function fileSystemOf(directory: string, statfs: Statfs = statfsSync): FileSystem {
  if (process.platform !== "linux") return { name: process.platform, standing: "good" };
  try {
    // A negative number is one of 32 bits that was taken for a signed one.
    const type = statfs(nearest(directory)).type >>> 0;
    const [name, standing] = KNOWN.get(type) ?? [`0x${type.toString(16)}`, "good"];
    return { name, standing };
  } catch {
    return { name: "unknown", standing: "good" };
  }
}

/** With less than that SQLite cannot make what its connections share, which grows by as much at once; in bytes. */
const FULL_BYTES = 32 * 1024;

/** Why nothing can be written in a directory, as far as that can be seen without trying; undefined if nothing is known against it. */
export function unwritable(directory: string): "read_only" | "forbidden" | "full" | undefined {
  const place = nearest(directory);
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS" ? "read_only" : "forbidden";
  }
  try {
    const { blocks, bavail, bsize } = statfsSync(place);
    // Where it has no blocks to count, nothing is known of its space.
    return blocks > 0 && bavail * bsize < FULL_BYTES ? "full" : undefined;
  } catch {
    return undefined;
  }
}

function nearest(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearest(dirname(path));
}
