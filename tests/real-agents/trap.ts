import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy that lets nothing through and keeps the first line of each request: what a program tries to reach outside of loopback. */
export interface Trap {
  readonly tried: readonly string[];
  /** The variables that lead programs into it. */
  readonly environment: Record<string, string>;
}

export async function trap(): Promise<Trap> {
  const tried: string[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      tried.push(data.toString("latin1").split("\r\n", 1)[0] ?? "");
      socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
  const loopback = { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" };
  return { tried, environment: { ...Object.fromEntries(names.map((name) => [name, url])), ...loopback } };
}
