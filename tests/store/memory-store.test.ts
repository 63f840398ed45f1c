import { MemoryDatabase } from "../simulation/memory-store.ts";
import { storeContract } from "./store.contract.ts";

storeContract("In memory", () => {
  const database = new MemoryDatabase(() => new Date().toISOString());
  return { store: database.connect(), another: () => database.connect() };
});
