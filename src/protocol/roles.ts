export type { Backend, Dialect, RecoveryPolicy, Role, RoleRegistry, RoleType } from "./generated/types.ts";
