import { describe } from "vitest";
import { commitsContract } from "./commits.contract.ts";
import type { StoreUnderTest } from "./contract-rig.ts";
import { sessionsContract } from "./sessions.contract.ts";

/** The contract of every implementation of `Store`. */
export function storeContract(name: string, open: () => StoreUnderTest): void {
  describe(`${name}: the store's contract`, () => {
    sessionsContract(open);
    commitsContract(open);
  });
}
