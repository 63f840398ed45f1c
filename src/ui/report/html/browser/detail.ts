import type { PageDetail } from "../page-data.ts";
import { byId, make } from "./dom.ts";

/** Shows labelled texts over the page, in its dialog. Escape closes it. */
export function showDetails(title: string, details: readonly PageDetail[]): void {
  const list = make("dl");
  for (const [label, text, style] of details) {
    list.append(make("dt", "", label), make("dd", "", make(style === "code" ? "pre" : "p", "", text)));
  }
  const dialog = byId("dialog") as HTMLDialogElement;
  const close = make("button", "", "Close");
  close.type = "button";
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(make("header", "", make("h2", "", title), close), list);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
