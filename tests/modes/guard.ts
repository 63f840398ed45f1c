/**
 * Makes a mode's state throw when anything writes to it while `reading` runs: only `apply` may write. Replaces the state's
 * maps and sets, and turns its other fields into accessors.
 */
export function guard<S extends object>(state: S): { readonly state: S; readonly reading: <T>(read: () => T) => T } {
  let isReading = false;
  const write = () => {
    if (isReading) throw new Error("decide or request wrote to the state");
  };
  class GuardedMap<K, V> extends Map<K, V> {
    override set(key: K, value: V): this {
      write();
      return super.set(key, value);
    }
    override delete(key: K): boolean {
      write();
      return super.delete(key);
    }
    override clear(): void {
      write();
      super.clear();
    }
  }
  class GuardedSet<V> extends Set<V> {
    override add(value: V): this {
      write();
      return super.add(value);
    }
    override delete(value: V): boolean {
      write();
      return super.delete(value);
    }
  }
  for (const [key, initial] of Object.entries(state)) {
    let value: unknown = initial;
    if (value instanceof Map) value = new GuardedMap(value);
    else if (value instanceof Set) value = new GuardedSet(value);
    Object.defineProperty(state, key, {
      enumerable: true,
      get: () => value,
      set(next: unknown) {
        write();
        value = next;
      },
    });
  }
  return {
    state,
    reading(read) {
      isReading = true;
      try {
        return read();
      } finally {
        isReading = false;
      }
    },
  };
}

/** Makes a value and all that it holds read-only. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
