// Stdout belongs to the protocol: what a package prints goes to stderr.
const { error } = console;
Object.assign(console, { log: error, info: error, debug: error });
