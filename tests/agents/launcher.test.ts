import { embeddedLauncher } from "../../src/agents/launcher.ts";
import { launcherContract } from "./launcher-contract.ts";

launcherContract("embedded", embeddedLauncher);
