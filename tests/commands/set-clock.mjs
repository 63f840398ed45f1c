// Loaded before a command: its wall clock is wrong by this many ms. The system's other clocks stay right.
const by = Number(process.env["BOSUN_TEST_CLOCK_MS"]);
const RightDate = Date;
globalThis.Date = class extends RightDate {
  constructor(...given) {
    if (given.length === 0) super(RightDate.now() + by);
    else super(...given);
  }
  static now() {
    return RightDate.now() + by;
  }
};
