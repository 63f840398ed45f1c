/**
 * `npm run screenshots`: makes the pictures of docs/images from a demo of its own, with the built program and Chromium.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { findChromium, openFile, startChromium } from "../tests/browser.ts";

const ROOT = join(import.meta.dirname, "..");
const IMAGES = join(ROOT, "docs", "images");

/** The pictures of the page: wide and light as on a desk, narrow and dark as on a telephone. */
const PICTURES = [
  { name: "report.png", width: 1280, height: 880, theme: "light" },
  { name: "report-narrow.png", width: 420, height: 880, theme: "dark" },
] as const;

const chromium = findChromium();
if (chromium === undefined) {
  console.error("There is no Chromium on the PATH. On Debian: apt install chromium.");
  process.exit(3);
}
const scratch = mkdtempSync(join(os.tmpdir(), "bosun-screenshots-"));
try {
  const page = pageOfDemo();
  mkdirSync(IMAGES, { recursive: true });
  const browser = await startChromium(chromium);
  for (const { name, ...look } of PICTURES) {
    const { page: shown } = await openFile(browser, page, look);
    await shown.screenshot({ path: join(IMAGES, name) });
    await shown.close();
  }
  await browser.close();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Runs the demo and gives the page that it writes. */
function pageOfDemo(): string {
  const words = ["--home", join(scratch, "home"), "demo", "--json"];
  const told = execFileSync(process.execPath, [join(ROOT, "dist", "bin.js"), ...words], { encoding: "utf8" });
  for (const line of told.trim().split("\n")) {
    const { page } = JSON.parse(line) as { readonly page?: string };
    if (page !== undefined) return page;
  }
  throw new Error("The demo names no page.");
}
