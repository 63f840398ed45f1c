export type { Backend, Dialect, RecoveryPolicy, Role, RoleRegistry, RoleType, Sandbox } from "./generated/types.ts";
