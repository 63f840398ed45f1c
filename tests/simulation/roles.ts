import type { Role } from "../../src/protocol/roles.ts";
import type { Random } from "./random.ts";

/** Few roles have limits of their own. In comparable scenarios, none depends on time. */
export function limitsOfRole(random: Random, comparable: boolean): Pick<Role, "budget" | "rate_limit"> {
  const wall = !comparable && random.chance(0.3);
  const budget = wall ? { wall_s: random.between(1, 20) } : { turns: random.between(1, 8) };
  return {
    ...(random.chance(0.1) ? { budget } : {}),
    ...(random.chance(0.1) ? { rate_limit: { turns_per_minute: random.between(1, 20) } } : {}),
  };
}

export function crew(random: Random, comparable: boolean): Role[] {
  const cli_command = ["agent"];
  const held = random.chance(0.2) ? { account: "shared" } : {};
  const roles: Role[] = [
    {
      role_id: "boss",
      type: "manager",
      cli_command,
      ...held,
      ...(!comparable && random.chance(0.1) ? { max_instances: 2 } : {}),
      ...recovery(random, comparable),
    },
  ];
  for (let index = random.between(1, 3); index > 0; index--) {
    roles.push({
      role_id: `hand${index}`,
      type: "worker",
      cli_command,
      capabilities: index === 1 || random.chance(0.5) ? ["code"] : [],
      ...held,
      ...(random.chance(0.3) ? { supports_multiple_instances: false } : {}),
      ...(random.chance(0.2) ? { max_instances: random.between(1, 2) } : {}),
      ...(random.chance(0.2) ? { timeout_s: 3 } : {}),
      ...(random.chance(0.2) ? { backend: "scripted" } : {}),
      ...recovery(random, comparable),
    });
  }
  return roles;
}

export function recovery(random: Random, comparable: boolean): Pick<Role, "recovery"> {
  const policy = random.pick(["restart", "resume", comparable ? "restart" : "ask", undefined] as const);
  return policy === undefined ? {} : { recovery: policy };
}
