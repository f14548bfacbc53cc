import path from "node:path";
import { expect, test } from "vitest";
import { scripts, startScript } from "./processes";

/** What commands that are quick to start say to a flag that they do not have, and to who asks how they are used. */

const COMMANDS = [
  ...["bot", "botWebhook", "doctor/main", "doctor/replay", "pictures/embed", "screenshots", "stack/fund"],
  ...["stack/main", "verifySignals", "verifyWhales"],
];

test.each(COMMANDS)(
  "%s names a flag that it does not have, or how it is used, in a sentence",
  async (name) => {
    const file = path.join(scripts, "..", `${name}.ts`);
    const { code, stdout, stderr } = await startScript(file, ["--nonsense"]).ended;
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(/^(?:✘ )?Unknown option '--nonsense'\n|^Usage: npm run /);
    expect(stderr).not.toMatch(/^ {4}at |To specify/m);
    expect(stdout).toBe("");
  },
);

test.each(["pictures/embed", "screenshots"])(
  "%s --help tells how it is used and does nothing",
  async (name) => {
    const { code, stdout } = await startScript(path.join(scripts, "..", `${name}.ts`), ["--help"]).ended;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: npm run /)]);
  },
);
