import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Listing, listFolder, recordName } from "../../../src/log/reader.ts";
import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import type { UnsealedRecord } from "../../../src/protocol/record.ts";
import type { PlayerScene } from "../../../src/ui/player/frame.ts";
import { INITIAL_PLAYER, instantOf, type Player } from "../../../src/ui/player/player.ts";
import { Recording } from "../../../src/ui/player/recording.ts";

/** Writes records as a log folder without a valid hash chain. A string is the content of a file. */
function logOf(records: readonly (UnsealedRecord | string)[]): { folder: string; listing: Listing } {
  const folder = mkdtempSync(join(tmpdir(), "bosun-player-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [index, record] of records.entries()) {
    const sequence = index + 1;
    const integrity = { sequence, previous: "", hash: "" };
    const isText = typeof record === "string";
    const file = join(folder, recordName(sequence, isText ? "report" : record.payload_type));
    writeFileSync(file, isText ? record : JSON.stringify({ ...record, integrity }));
  }
  const listing = listFolder(folder);
  if (!listing.ok) throw new Error(listing.error.message);
  return { folder, listing: listing.value };
}

/** A recording of these records, read to its end. */
export function recordingOf(records: readonly (UnsealedRecord | string)[]): Recording {
  const { folder, listing } = logOf(records);
  const recording = new Recording(folder, listing, false, (_, record) => record);
  recording.presentation = schedulePresentation;
  recording.readMore(Number.POSITIVE_INFINITY);
  return recording;
}

/** The player's scene for a recording. */
export function playerSceneOf(
  recording: Recording,
  changes: Partial<Player> = {},
  more: Partial<PlayerScene> = {},
): PlayerScene {
  const player = { ...INITIAL_PLAYER, ...changes };
  const { place } = player;
  return {
    player,
    tape: recording.tape,
    name: "s-1",
    presentation: schedulePresentation,
    model: recording.modelAt(place),
    now: instantOf(player, recording.tape),
    events: recording.eventsAt(place),
    story: (id) => recording.storyAt(place, id),
    record: recording.shown(place),
    proof: { state: "ok", problems: [] },
    ...more,
  };
}
