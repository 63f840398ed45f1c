import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

/** The names of Chromium's program in different systems. */
const NAMES = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/** Chromium's program on the PATH; undefined if there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((file) => existsSync(file));
}

/** Starts Chromium. Its own sandbox does not start in many containers; the pages are ours. */
export function startChromium(program: string): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
}

/** A page that is open, what its console said, and the addresses that it asked for besides its own. */
export interface OpenPage {
  readonly page: Page;
  readonly said: string[];
  readonly requests: string[];
}

/** Opens a file in a page of this size and theme. */
export async function openFile(
  browser: Browser,
  file: string,
  look: { readonly width: number; readonly height: number; readonly theme: "light" | "dark" },
): Promise<OpenPage> {
  const { width, height, theme } = look;
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
  const address = pathToFileURL(file).href;
  const said: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    said.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== address) requests.push(request.url());
  });
  await page.goto(address);
  return { page, said, requests };
}
