import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { launcherContract } from "./launcher-contract.ts";

launcherContract("embedded", embeddedLauncher);
