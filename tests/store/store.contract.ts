import { describe } from "vitest";
import { commitsContract } from "./commits.contract.ts";
import type { StoreUnderTest } from "./contract-rig.ts";
import { sessionsContract } from "./sessions.contract.ts";

/** What every implementation of `Store` must do. */
export function storeContract(name: string, open: () => StoreUnderTest): void {
  describe(`${name}: the store's contract`, () => {
    sessionsContract(open);
    commitsContract(open);
  });
}
