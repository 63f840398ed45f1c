import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Extent,
  inProcess,
  newDirectory,
  interleaved,
  median,
  medianOf,
  table,
  target,
  wallTime,
} from "./measure.ts";
import { type Finished, SESSION, type SessionOrder, taskName, waitsFor } from "./sessions.ts";

const LAYERS = 10;
const PARALLEL = 2;

/** A worker of the envelope dialect that reads its request and reports at once. */
const WORKER = `#!/bin/sh
IFS= read -r request || exit 0
echo '{"session_id":"'"\${BOSUN_SESSION_ID-${SESSION}}"'","source":"worker","target":"scheduler","payload_type":"report","version":"1.0","payload":{"status":"completed","summary":"Done"}}'
`;

/** Replaces a scheduler's request, with about its length. */
const REQUEST = `${JSON.stringify({ payload_type: "turn_request", payload: { text: "x".repeat(1_500) } })}\n`;

/**
 * A session with real worker programs, beside `make` on the same graph with the same script: it reads an equally long line and writes its
 * answer to a file.
 */
export async function measure(extent: Extent): Promise<void> {
  const tasks = extent.quick ? 200 : 1_000;
  const scratch = newDirectory(extent);
  const script = join(scratch, "worker.sh");
  writeFileSync(script, WORKER);
  writeFileSync(join(scratch, "request.json"), REQUEST);
  writeFileSync(join(scratch, "Makefile"), makefile(tasks));

  const make = async () => {
    const here = newDirectory({ scratch });
    mkdirSync(join(here, "out"));
    return wallTime("make", ["-s", `-j${PARALLEL}`, "-f", join(scratch, "Makefile"), "all"], here);
  };
  const bosun = () => {
    const order: SessionOrder = {
      home: newDirectory({ scratch }),
      shape: { tasks, layers: LAYERS },
      max_workers: PARALLEL,
      files: true,
      program: ["sh", script],
      programWorks: true,
    };
    return inProcess<Finished>("session", order, extent);
  };
  const results = await interleaved(extent.rounds, { make, bosun });
  const floor = median(results.make);
  const working = medianOf(results.bosun, (result) => result.working);
  table(
    `dag: ${tasks} tasks in ${LAYERS} layers, each on two of the layer before; ${PARALLEL} at once; a shell script each; reviewed in the process; a file for each record`,
    ["", "ms", "ms/task", "x make", "RSS MiB"],
    [
      [`make -j${PARALLEL}`, floor, floor / tasks, 1, "-"],
      ["bosun", working, working / tasks, working / floor, medianOf(results.bosun, ({ rss_peak }) => rss_peak)],
    ],
  );
  target("the graph over make", working / floor, "<= 4", working / floor <= 4);
}

function makefile(tasks: number): string {
  const width = tasks / LAYERS;
  const rules: string[] = [];
  const last: string[] = [];
  for (let layer = 0; layer < LAYERS; layer++) {
    for (let place = 0; place < width; place++) {
      const name = taskName(layer, place);
      const before = waitsFor(layer, place, width).map((task) => `out/${task}`);
      rules.push(`out/${name}: ${before.join(" ")}\n\t@sh ../worker.sh < ../request.json > $@`);
      if (layer === LAYERS - 1) last.push(`out/${name}`);
    }
  }
  return `all: ${last.join(" ")}\n${rules.join("\n")}\n`;
}
