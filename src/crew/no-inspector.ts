// Imported before anything else. Unheard, this signal opens Node's inspector, with which any program of the same user could take
// this process over.
process.on("SIGUSR1", () => {});
