import type { PageDetail } from "../page-data.ts";
import { byId, make } from "./dom.ts";

/** Shows the details of a row over the page. Escape closes them. */
export function showDetails(title: string, details: readonly PageDetail[]): void {
  const list = make("dl");
  for (const [label, text, style] of details) {
    list.append(make("dt", "", label), make("dd", "", make(style === "code" ? "pre" : "p", "", text)));
  }
  openDialog(title, list);
}

/** Opens the page's dialog with this content. */
export function openDialog(title: string, content: HTMLElement): void {
  const dialog = byId("dialog") as HTMLDialogElement;
  const close = make("button", "", "Close");
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(make("header", "", make("h2", "", title), close), content);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
