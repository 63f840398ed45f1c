/** Creates an element. Strings become text nodes, whatever they contain. */
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

/** The page's element with this id, which must exist. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element "${id}".`);
  return element;
}
