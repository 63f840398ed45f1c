import { describe, expect, it } from "vitest";
import type { Json } from "../../src/lib/json.ts";
import { type McpClient, mcpTools } from "../../src/harness/mcp.ts";
import { combinedTools, functionTools, limitedTools, ToolNotFoundError, type Tools } from "../../src/harness/tools.ts";

const CONTEXT = { toolCallId: "1", signal: new AbortController().signal };

function tool(run: () => Json | Promise<Json>): Tools {
  return { definitions: [{ name: "one", description: "", parameters: {} }], execute: run };
}

const execute = async (tools: Tools, name: string, given = {}) => tools.execute(name, given, CONTEXT);

describe("functions as tools", () => {
  it("are called by name with their arguments, and defined with their schema", async () => {
    const parameters = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    const tools = functionTools({
      twice: { description: "Doubles.", parameters, run: ({ a }) => Number(a) * 2 },
      now: { description: "Now.", run: () => "noon" },
    });
    expect(tools.definitions).toEqual([
      { name: "twice", description: "Doubles.", parameters },
      { name: "now", description: "Now.", parameters: { type: "object", properties: {}, additionalProperties: false } },
    ]);
    expect([await execute(tools, "twice", { a: 4 }), await execute(tools, "now")]).toEqual([8, "noon"]);
    await expect(execute(tools, "toString")).rejects.toBeInstanceOf(ToolNotFoundError);
  });

  it("must have names that every provider takes", () => {
    expect(() => functionTools({ "read file": { description: "", run: () => null } })).toThrow(
      '"read file" is no name',
    );
  });
});

describe("combined tools", () => {
  it("go to the set that has them", async () => {
    const one = functionTools({ a: { description: "", run: () => 1 } });
    const other = functionTools({ b: { description: "", run: () => 2 } });
    const tools = combinedTools(one, other);
    expect(tools.definitions.map(({ name }) => name)).toEqual(["a", "b"]);
    expect([await execute(tools, "a"), await execute(tools, "b")]).toEqual([1, 2]);
    await expect(async () => execute(tools, "c")).rejects.toThrow('There is no tool "c": the tools are a, b.');
    expect(() => combinedTools(one, one)).toThrow('Two tools are called "a"');
  });
});

describe("limits of tools", () => {
  it("end a call that hangs, and abort it", async () => {
    let reason: unknown;
    const tools = limitedTools(
      {
        definitions: [],
        execute: (_name, _given, { signal }) => {
          signal.addEventListener("abort", () => (reason = signal.reason));
          return new Promise<never>(() => {});
        },
      },
      { timeoutMs: 20 },
    );
    await expect(execute(tools, "one")).rejects.toThrow("The tool one did not answer within 20ms.");
    expect(reason).toMatchObject({ message: expect.stringContaining("20ms") });
  });

  it("cut a huge result between characters, and say so", async () => {
    const tools = limitedTools(
      tool(() => "é".repeat(10)),
      { maxResultBytes: 5 },
    );
    expect(await execute(tools, "one")).toBe("éé\n[cut: the first 5 of 20 bytes]");
    expect(
      await execute(
        limitedTools(
          tool(() => ({ a: "bcdef" })),
          { maxResultBytes: 6 },
        ),
        "one",
      ),
    ).toBe('{"a":"\n[cut: the first 6 of 13 bytes]');
    expect(
      await execute(
        limitedTools(
          tool(() => ({ a: 1 })),
          {},
        ),
        "one",
      ),
    ).toEqual({ a: 1 });
  });

  it("may be without end", async () => {
    const slow = tool(() => new Promise((resolve) => setImmediate(() => setTimeout(resolve, 5, "late"))));
    expect(await execute(limitedTools(slow, { timeoutMs: Number.POSITIVE_INFINITY }), "one")).toBe("late");
  });

  it("make null of a function that returns nothing", async () => {
    expect(
      await execute(
        limitedTools(
          tool(() => undefined as unknown as Json),
          {},
        ),
        "one",
      ),
    ).toBeNull();
  });
});

describe("tools of an MCP server", () => {
  /** A server's client with two pages of tools. */
  function client(callTool: McpClient["callTool"], more: Partial<McpClient> = {}): McpClient {
    return {
      listTools: async (page) =>
        page?.cursor === "2"
          ? { tools: [{ name: "write.all", inputSchema: { type: "object" } }] }
          : { tools: [{ name: "read", description: "Reads.", inputSchema: { type: "object" } }], nextCursor: "2" },
      callTool,
      ...more,
    };
  }

  it("have the server's name before theirs, and are called by their own", async () => {
    const called: unknown[] = [];
    const tools = await mcpTools(
      "fs",
      client(async (asked) => (called.push(asked), { content: [{ type: "text", text: "hi" }] })),
    );
    expect(tools.definitions).toEqual([
      { name: "fs__read", description: "Reads.", parameters: { type: "object" } },
      { name: "fs__write_all", description: "", parameters: { type: "object" } },
    ]);
    expect(await execute(tools, "fs__write_all", { a: 1 })).toBe("hi");
    expect(called).toEqual([{ name: "write.all", arguments: { a: 1 } }]);
    await expect(execute(tools, "read")).rejects.toThrow("fs__read, fs__write_all");
  });

  it("give structured content, text, and the kinds of what is no text", async () => {
    const results: object[] = [
      { content: [{ type: "text", text: "{}" }], structuredContent: { a: 1 } },
      {
        content: [
          { type: "text", text: "See:" },
          { type: "image", data: "AA==", mimeType: "image/png" },
        ],
      },
      {},
    ];
    const tools = await mcpTools(
      "fs",
      client(async () => results.shift() ?? {}),
    );
    expect(await execute(tools, "fs__read")).toEqual({ a: 1 });
    expect(await execute(tools, "fs__read")).toBe("See:\n[image image/png: not shown]");
    expect(await execute(tools, "fs__read")).toBe("");
  });

  it("fail with what the server says is an error", async () => {
    const failing = client(async () => ({ isError: true, content: [{ type: "text", text: "no such file" }] }));
    await expect(execute(await mcpTools("fs", failing), "fs__read")).rejects.toThrow("no such file");
  });

  it("end in time if the server hangs in a call or before it tells its tools", async () => {
    const hanging = client(() => new Promise<never>(() => {}));
    await expect(execute(await mcpTools("fs", hanging, { timeoutMs: 20 }), "fs__read")).rejects.toThrow("within 20ms");
    const silent = client(async () => ({}), { listTools: () => new Promise<never>(() => {}) });
    await expect(mcpTools("fs", silent, { startTimeoutMs: 20 })).rejects.toThrow(
      "The MCP server fs did not tell its tools",
    );
  });

  it("must have names that stay different", async () => {
    const tools = ["a.b", "a b"].map((name) => ({ name, inputSchema: {} }));
    await expect(
      mcpTools(
        "fs",
        client(async () => ({}), { listTools: async () => ({ tools }) }),
      ),
    ).rejects.toThrow("fs__a_b");
  });
});
