// Begins or resumes the debate of a home and runs it to its end. Arguments: the home, the stage's address, `begin` or `resume`.
import { begin, openHome, resume } from "../home.ts";
import { rolesAt } from "../stage.ts";
import { value } from "../../results.ts";

const [home = "", address = "", task] = process.argv.slice(2);
const around = openHome(home);
const session = task === "begin" ? await begin(around, rolesAt(address)) : await resume(around);
const end = value(await session.run({ waitForPeople: false }));
around.store.close();
process.stdout.write(`${JSON.stringify(end)}\n`);
