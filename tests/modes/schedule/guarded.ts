import { empty, type ScheduleState } from "../../../src/modes/schedule/state.ts";

/** A state that throws when anything but `apply` writes to it, and a way to say when nothing may. */
export function guardedState(): { readonly state: ScheduleState; readonly readonly: <T>(read: () => T) => T } {
  let reading = false;
  const guard = () => {
    if (reading) throw new Error("decide or request wrote to the state");
  };
  class Guarded<K, V> extends Map<K, V> {
    override set(key: K, value: V): this {
      guard();
      return super.set(key, value);
    }
    override delete(key: K): boolean {
      guard();
      return super.delete(key);
    }
    override clear(): void {
      guard();
      super.clear();
    }
  }
  class GuardedSet<V> extends Set<V> {
    override add(value: V): this {
      guard();
      return super.add(value);
    }
    override delete(value: V): boolean {
      guard();
      return super.delete(value);
    }
  }
  let session: ScheduleState["session"];
  const state: ScheduleState = {
    ...empty(),
    tickets: new Guarded(),
    questions: new Guarded(),
    counts: new Guarded(),
    dependents: new Guarded(),
    unmet: new Guarded(),
    blockedByError: new GuardedSet(),
    underway: new GuardedSet(),
    get session() {
      return session;
    },
    set session(value) {
      guard();
      session = value;
    },
  };
  return {
    state,
    readonly(read) {
      reading = true;
      try {
        return read();
      } finally {
        reading = false;
      }
    },
  };
}
