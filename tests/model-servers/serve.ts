import { parseArgs } from "node:util";
import { clientEnvironment } from "./clients.ts";
import { scripted } from "./scripted.ts";
import type { Step } from "./conversation.ts";
import { ModelServer } from "./server.ts";

// Serves scripted steps until it is interrupted, so that the programs can be tried without an account. With --home it also writes the
// programs' configuration and prints their variables:
//   node tests/model-servers/serve.ts --steps '[{"act":[{"run":"ls"}]},{"text":"Done."}]' [--port 8099] [--home DIR]
const { values } = parseArgs({
  options: {
    steps: { type: "string", default: '[{"text":"Hello."}]' },
    port: { type: "string", default: "0" },
    home: { type: "string" },
  },
});
const { steps, port, home } = values;
const server = await ModelServer.start(scripted(...(JSON.parse(steps) as Step[])), Number(port));
server.heard = ({ conversation, method, path, step, side }) => {
  const what = side ? "a side request" : JSON.stringify(step);
  console.error(`${conversation?.id ?? ""} ${method} ${path}: ${what}`);
};
if (home === undefined) {
  console.log(server.url);
} else {
  const environment = clientEnvironment(server.url, home);
  for (const [name, value] of Object.entries(environment)) console.log(`export ${name}='${value}'`);
}
