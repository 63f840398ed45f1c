import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import type { UnsealedRecord } from "../../../src/protocol/record.ts";
import { htmlReport } from "../../../src/ui/report/html/html-report.ts";
import { built } from "../../built.ts";
import { findChromium, openFile, type OpenPage, startChromium } from "../../browser.ts";
import { SESSION } from "../model/session.ts";
import { record } from "../records.ts";
import { gathered, proofOf } from "./gathered.ts";
import { HOSTILE, spoilt } from "./hostile.ts";

const CHROMIUM = findChromium();
let folder = "";
let browser: Browser | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "bosun-page-"));
  if (CHROMIUM === undefined) console.warn("The page of a report is not tested: there is no Chromium on the PATH.");
  else browser = await startChromium(CHROMIUM);
});

afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The report page of these records. */
function pageOf(records: readonly UnsealedRecord[], proof = proofOf(records)): string {
  const assets = {
    script: readFileSync(built("report", "page.js"), "utf8"),
    style: readFileSync(built("report", "page.css"), "utf8"),
  };
  return [...htmlReport(gathered(records, proof), assets)].join("");
}

/** Opens a page in Chromium; skips the test without Chromium. */
async function opened(
  context: TestContext,
  html: string,
  theme: "light" | "dark" = "light",
  width = 1280,
): Promise<OpenPage> {
  if (browser === undefined) context.skip("there is no Chromium on the PATH");
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  return openFile(browser, file, { width, height: 900, theme });
}

/** Every kind of element that a page may have. */
const ELEMENTS = new Set(
  "a body button circle code dd dialog div dl dt footer g h1 h2 head header html input li line main meta nav noscript p path pre rect script section span style svg text title ul".split(
    " ",
  ),
);

describe("the page of a report in Chromium", () => {
  it("opens without errors or requests, in the system's theme and in the other one", async (context) => {
    for (const theme of ["light", "dark"] as const) {
      const { page, said, requests } = await opened(context, pageOf(SESSION), theme);
      const paper = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      const before = await paper();
      expect(before).toBe(theme === "light" ? "rgb(255, 255, 255)" : "rgb(20, 23, 28)");
      await page.keyboard.press("t");
      expect(await paper()).not.toBe(before);
      expect([said, requests]).toEqual([[], []]);
      await page.close();
    }
  });

  it("has every section, and no horizontal scroll bar on a narrow page", async (context) => {
    const { page } = await opened(context, pageOf(SESSION), "light", 400);
    const titles = await page.locator("h1, h2").allTextContents();
    expect(titles).toEqual([
      "Build a scheduler for agent CLIs",
      "Verification intact, not closed",
      "Tickets4",
      "Timeline",
      "Dependencies",
      "Cost and tokens by role2",
      "Asked and answered2",
      "Reviews1",
      "Checks1",
      "Artifacts1",
      "Envelopes21",
    ]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(400);
    await page.close();
  });

  it("searches every list, and the payloads", async (context) => {
    const { page } = await opened(context, pageOf(SESSION));
    await page.keyboard.press("/");
    await page.keyboard.type("scaffold");
    await page.locator("#envelopes .count", { hasText: "1 of 21" }).waitFor();
    expect(await page.locator("#tickets .count").textContent()).toBe("1 of 4");
    expect(await page.locator("#tickets [data-place]").allTextContents()).toEqual([expect.stringContaining("build")]);
    await page.keyboard.press("Escape");
    await page.locator("#envelopes .count", { hasText: /^21$/ }).waitFor();
    await page.close();
  });

  it("supports the keyboard: rows, lists, details, keys", async (context) => {
    const { page } = await opened(context, pageOf(SESSION));
    const selected = () => page.locator(".scroller:focus [aria-selected=true]").textContent();
    const dialog = page.locator("dialog[open]");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await selected()).toContain("tests");
    await page.keyboard.press("k");
    expect(await selected()).toContain("docs");
    await page.keyboard.press("Enter");
    expect(await dialog.locator("h2").textContent()).toBe("docs");
    expect(await dialog.textContent()).toContain("Write the documents");
    await page.keyboard.press("Escape");
    expect(await dialog.count()).toBe(0);
    await page.keyboard.press("J");
    expect(await selected()).toContain("codex");
    await page.keyboard.press("?");
    expect(await dialog.locator("h2").textContent()).toBe("Keys");
    await page.close();
  });

  it("opens a ticket from the drawings, and an envelope with its whole payload", async (context) => {
    const { page } = await opened(context, pageOf(SESSION));
    await page.locator("#graph [data-ticket]").first().click();
    expect(await page.locator("dialog h2").textContent()).toBe("build");
    await page.keyboard.press("Escape");
    await page.locator("#envelopes [data-place='9']").click();
    expect(JSON.parse((await page.locator("dialog pre").textContent()) ?? "")).toEqual(SESSION[9]?.payload);
    await page.close();
  });

  it("shows hostile texts everywhere and interprets none of them", async (context) => {
    for (const isMild of [true, false]) {
      const text = HOSTILE;
      const html = pageOf(
        spoilt(SESSION, text, isMild),
        proofOf(SESSION, { integrity: "failed", problems: [{ sequence: 1, what: text, fault: "changed" }] }),
      );
      expect(html).not.toMatch(/[\u202A-\u202E\u2066-\u2069]|[^\P{Cc}\n]/u);
      const { page, said, requests } = await opened(context, html);
      for (const list of await page.locator(".scroller").all()) {
        await list.focus();
        await page.keyboard.press("Enter");
        await page.keyboard.press("Escape");
      }
      const found = await page.evaluate<{ names: string[] }>(`({
        hacked: window.hacked,
        names: [...new Set([...document.querySelectorAll("*")].map(({ localName }) => localName))],
        links: [...document.querySelectorAll("a")].filter((link) => !link.getAttribute("href").startsWith("#")).length,
        handlers: [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]).filter(({ name }) => /^on|^xlink/.test(name)).length,
        scripts: [...document.scripts].map(({ type, id }) => type + id),
      })`);
      expect(found.names.filter((name) => !ELEMENTS.has(name))).toEqual([]);
      expect(found).toMatchObject({
        links: 0,
        handlers: 0,
        scripts: ["application/jsondata", ""],
      });
      expect([said, requests]).toEqual([[], []]);
      const shown = isMild ? page.locator("h1") : page.locator("#envelopes [data-place]").first();
      expect(await shown.textContent()).toContain("</script><script>window.hacked=1</script>");
      await page.close();
    }
  });

  it("keeps only the visible rows of twenty thousand envelopes in the document", async (context) => {
    const many = Array.from({ length: 20_000 }, (_, index) =>
      record("report", { status: "progress", summary: `note ${index}` }, { ticket_id: "build", turn_id: "t2" }),
    );
    const { page } = await opened(context, pageOf([...SESSION, ...many]));
    const rows = page.locator("#envelopes [data-place]");
    expect(await rows.count()).toBeLessThan(60);
    await page.evaluate(`document.querySelector("#envelopes .scroller").scrollTo(0, 1e9)`);
    await rows.filter({ hasText: "note 19999" }).waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.close();
  });
});

describe("the file of a page", () => {
  it("allows only its one script and its one stylesheet, by their digests", () => {
    const html = pageOf(SESSION);
    const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html)?.[1] ?? "";
    const rules = policy.split("; ").map((rule) => rule.replace(/'sha256-[\w+/]{43}='/, "DIGEST"));
    expect(rules).toEqual([
      "default-src 'none'",
      "script-src DIGEST",
      "style-src DIGEST",
      "base-uri 'none'",
      "form-action 'none'",
    ]);
    expect(html).not.toMatch(/\ssrc=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  });

  it("has a script and a stylesheet that cannot be ended from inside", () => {
    for (const file of ["page.js", "page.css"]) {
      expect(readFileSync(built("report", file), "utf8")).not.toMatch(/<\/(?:script|style)|<!--/i);
    }
  });
});
