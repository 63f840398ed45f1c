import { detailsOf, type PageColumn, type PageList } from "../page-data.ts";
import { showDetails } from "./detail.ts";
import { make } from "./dom.ts";

/** Height of a row in pixels, as in the stylesheet. */
const ROW = 26;

/** Maximum number of visible rows, and number of extra rows drawn on each side. */
const SEEN = 18;
const SPARE = 8;

/** A virtual list: only the rows in sight are in the document, so that twenty thousand cost no more than twenty. */
export class List {
  readonly section: HTMLElement;
  readonly #source: PageList;
  readonly #count = make("span", "count");
  readonly #scroller = make("div", "scroller");
  readonly #canvas = make("div", "canvas");
  /** All text of each row in lower case, once a search needs it. */
  #haystacks: readonly string[] | undefined;
  /** Indexes of the rows that match the search; undefined if all do. */
  #found: readonly number[] | undefined;
  #selected = 0;
  #drawn = "";

  /** `chosen` is called when the list gets the focus. */
  constructor(source: PageList, chosen: (list: List) => void) {
    this.#source = source;
    this.section = make("section", "", make("h2", "", source.title, this.#count), this.#scroller);
    this.section.id = source.id;
    this.#scroller.tabIndex = 0;
    this.#scroller.setAttribute("role", "listbox");
    this.#scroller.setAttribute("aria-label", source.title);
    this.#scroller.append(this.#heading(), this.#canvas);
    this.#scroller.addEventListener("scroll", () => this.#draw());
    this.#scroller.addEventListener("focus", () => chosen(this));
    this.#canvas.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("[data-place]");
      if (row === null) return;
      this.#selected = Number(row.dataset.place);
      this.#draw();
      this.openSelected();
    });
    this.#fit();
  }

  get length(): number {
    return this.#found?.length ?? this.#source.rows.length;
  }

  /** Shows only the rows that contain all these words, which are in lower case. */
  search(words: readonly string[]): void {
    this.#found = words.length === 0 ? undefined : this.#matching(words);
    this.#selected = 0;
    this.#scroller.scrollTop = 0;
    this.#fit();
  }

  focus(): void {
    this.#scroller.focus({ preventScroll: true });
    this.section.scrollIntoView({ block: "nearest" });
  }

  move(by: number): void {
    this.#selected = Math.max(0, Math.min(this.length - 1, this.#selected + by));
    const top = this.#selected * ROW;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop) this.#scroller.scrollTop = top;
    // The heading is sticky and covers one row.
    else if (top + 2 * ROW > scrollTop + clientHeight) this.#scroller.scrollTop = top + 2 * ROW - clientHeight;
    this.#draw();
  }

  openSelected(): void {
    const row = this.#source.rows[this.#indexAt(this.#selected)];
    if (row !== undefined) showDetails(row.cells[0] ?? "", detailsOf(this.#source, row));
  }

  /** Selects a row of the source. Clears the search if it hides the row. */
  select(index: number): void {
    const place = this.#found === undefined ? index : this.#found.indexOf(index);
    if (place < 0) this.search([]);
    this.#selected = place < 0 ? index : place;
    this.move(0);
  }

  #matching(words: readonly string[]): number[] {
    this.#haystacks ??= this.#source.rows.map(({ cells, more }) =>
      [...cells, ...more.map(([, text]) => text)].join(" ").toLowerCase(),
    );
    return this.#haystacks.flatMap((text, index) => (words.every((word) => text.includes(word)) ? [index] : []));
  }

  #indexAt(place: number): number {
    return this.#found === undefined ? place : (this.#found[place] ?? 0);
  }

  #heading(): HTMLElement {
    return make("div", "row heading", ...this.#source.columns.map((column) => cell(column, column.heading)));
  }

  #fit(): void {
    const { rows, empty } = this.#source;
    const all = rows.length.toLocaleString("en");
    this.#count.textContent = this.#found === undefined ? all : `${this.length.toLocaleString("en")} of ${all}`;
    this.#scroller.style.setProperty("height", `${(1 + Math.max(1, Math.min(SEEN, this.length))) * ROW}px`);
    this.#canvas.style.setProperty("height", `${Math.max(1, this.length) * ROW}px`);
    this.#drawn = "";
    if (this.length > 0) this.#draw();
    else this.#canvas.replaceChildren(make("div", "row empty", rows.length === 0 ? empty : "Nothing here matches."));
  }

  #draw(): void {
    const first = Math.max(0, Math.floor(this.#scroller.scrollTop / ROW) - SPARE);
    const last = Math.min(this.length, first + SEEN + 2 * SPARE);
    const drawn = `${first} ${last} ${this.#selected}`;
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const rows: HTMLElement[] = [];
    for (let place = first; place < last; place++) rows.push(this.#row(place));
    this.#canvas.replaceChildren(...rows);
  }

  #row(place: number): HTMLElement {
    const index = this.#indexAt(place);
    const { cells, tone } = this.#source.rows[index] ?? { cells: [], tone: "plain" };
    const row = make("div", `row ${tone}`);
    this.#source.columns.forEach((column, at) => row.append(cell(column, cells[at] ?? "")));
    row.style.setProperty("top", `${place * ROW}px`);
    row.dataset.place = String(place);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === this.#selected));
    return row;
  }
}

function cell({ width, align, toned }: PageColumn, text: string): HTMLElement {
  const element = make("span", ["cell", align, toned ? "toned" : ""].join(" ").trim(), text);
  if (width !== undefined) element.style.setProperty("flex", `0 0 ${width}ch`);
  return element;
}
