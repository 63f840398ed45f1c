import { embeddedQueue } from "../../src/store/queue.ts";
import { queueContract } from "./queue.contract.ts";

queueContract("in memory", () => embeddedQueue<string>());
