/** Makes an element. Its children are elements and texts, which stay texts whatever they hold. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = "",
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

/** The element with this id, which the page has. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element "${id}".`);
  return element;
}

/** The value of a block of data in the page; undefined if there is no such block. */
export function dataOf(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text === undefined || text === null ? undefined : JSON.parse(text);
}
