// Imported before anything else: what a program of the same user could otherwise use to open this process's inspector, and with it
// take it over, must be heard.
process.on("SIGUSR1", () => {});
