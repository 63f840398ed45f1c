import { describe, expect, it } from "vitest";
import { modeOf } from "../../../src/kernel/kit/mode.ts";
import { panel, panelRules } from "./panel.ts";

const { command, events, messages, phases, presentation, states } = panel;
const [seat] = panel.seats;
const option = { flags: "--members <ids>", field: "members", description: "who" };

/** A change of the panel's descriptor, and what it contradicts. */
const CONTRADICTIONS: readonly (readonly [change: object, what: string])[] = [
  [{ name: "Panel 2" }, 'its name "Panel 2" is not a word of small letters'],
  [{ letter: "pa" }, 'its letter "pa" is not one small letter'],
  [{ subject: "self" }, 'its subject "self" has the name of values that every session stores'],
  [{ subject: "said" }, 'its subject "said" has the name of values that every session stores'],
  [{ subject: "turn" }, 'its subject "turn" has the name of values that every session stores'],
  [{ phases: { ...phases, closed: {} } }, 'its phase "closed" has the name of a state that every session has'],
  [{ messages: {} }, "it has no message"],
  [{ messages: { speech: messages.report } }, 'the message "speech" is no payload type'],
  [{ messages: { report: { to: [], answers: ["verdict"] } } }, 'nobody gets the message "report"'],
  [{ messages: { report: { to: ["manager"], answers: [] } } }, 'nothing answers the message "report"'],
  [
    { messages: { report: { to: ["manager"], answers: ["final_report"] } } },
    '"final_report" answers "report", and agents cannot send it',
  ],
  [{ lines: { speech: {} } }, '"speech" of its lines is no payload type'],
  [{ outsiders: ["speech"] }, '"speech" of outsiders is no payload type'],
  [{ outsiders: ["timer_fired"] }, '"timer_fired" of outsiders is handled in every mode'],
  [{ outsiders: ["user_command"] }, '"user_command" of outsiders is handled in every mode'],
  [{ outsiders: ["opinion"] }, 'no rule handles "opinion" of outsiders'],
  [{ phases: {} }, "it has no phase"],
  [{ phases: { talking: { heard: "nowhere" } } }, '"heard" leads from the phase "talking" to "nowhere", which is none'],
  [{ phases: { ...phases, alone: {} } }, 'no event leads to the phase "alone"'],
  [{ states: {} }, "it has no status"],
  [
    { states: { ...states, heard: { asked: "nowhere" } } },
    '"asked" leads from the status "heard" to "nowhere", which is none',
  ],
  [{ states: { ...states, alone: { asked: "asked" } } }, 'no event leads to the status "alone"'],
  [{ events: { ...events, failed: "stumbled" } }, 'no status accepts "stumbled", its event for "failed"'],
  [{ states: { ...states, gone: { back: "late" }, late: {} } }, 'the status "late" has no presentation'],
  [
    { presentation: { ...presentation, statuses: { ...presentation.statuses, late: {} } } },
    'the presentation has the status "late", which is none',
  ],
  [{ requirement: "theme" }, 'its requirement "theme" is no field of its input'],
  [{ seats: [{ ...seat, at: "people.*" }] }, 'its seat "people.*" is not in its input'],
  [{ seats: [{ ...seat, types: [] }] }, 'no type of role may take its seat "members.*"'],
  [
    { command: { ...command, options: [{ ...option, field: "people" }] } },
    'the option "--members <ids>" fills "people", which is no field of its input',
  ],
  [
    { command: { ...command, operand: { ...option, flags: "<people>", field: "people" } } },
    'the option "<people>" fills "people", which is no field of its input',
  ],
  [
    { command: { ...command, options: [option], unlessFile: "topic" } },
    'no option fills "topic", which would make its file unnecessary',
  ],
];

describe("a descriptor that contradicts itself", () => {
  it.each(CONTRADICTIONS)("makes no mode: %o", (change, what) => {
    const make = () => modeOf({ ...panel, ...change }, panelRules);
    expect(make).toThrow(`\n- ${what}`);
  });

  it("makes no mode if its rules handle what outsiders cannot send", () => {
    const make = () => modeOf(panel, { ...panelRules, on: { opinion: () => undefined } });
    expect(make).toThrow('a rule handles "opinion", and outsiders cannot send it');
  });

  it("says everything that it contradicts, and whose it is", () => {
    const make = () => modeOf({ ...panel, letter: "", requirement: "theme" }, panelRules);
    expect(make).toThrow(
      'the mode "panel" contradicts itself:\n- its letter "" is not one small letter\n- its requirement "theme" is no field of its input',
    );
  });
});
