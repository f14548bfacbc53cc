import { expect, test } from "vitest";
import { ranHere } from "../../support/commands";

/** What commands that are quick to start say to a flag that they do not have, and to whoever asks how they are used. */

const COMMANDS = [
  ...[
    "accept/main",
    "bench/main",
    "bot",
    "botWebhook",
    "demo",
    "doctor/main",
    "doctor/replay",
    "pictures/embed",
  ],
  ...["screenshots", "stack/fund", "stack/main", "stack/token", "verifySignals", "verifyWhales"],
];

test.each(COMMANDS)("%s with a flag that it does not have ends with one line and status 2", async (name) => {
  const { code, stdout, stderr } = await ranHere(`scripts/${name}.ts`, ["--nonsense"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^(?:Unknown option '--nonsense'|Name one \w+)\. --help says how it is used\.\n$/);
});

/** Of these a program may want what came of them. */
const TELLING = [
  ...[
    "accept/main",
    "audit/export",
    "bench/main",
    "bot",
    "botWebhook",
    "demo",
    "deploy/main",
    "doctor/main",
    "doctor/replay",
  ],
  ...["env/push", "screenshots", "stack/fund", "stack/main", "stack/token", "verifySignals"],
  "verifyWhales",
];

test.each(TELLING)(
  "%s --help tells how it is used, and how for a program, and does nothing",
  async (name) => {
    const { code, stdout } = await ranHere(`scripts/${name}.ts`, ["--help"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: npm (?:run|start) [^]*--json/)]);
  },
);

test.each(["pictures/embed", "chain/build", "../tests/hostile/main", "../tests/long/main"])(
  "%s --help tells how it is used and does nothing",
  async (name) => {
    const { code, stdout } = await ranHere(`scripts/${name}.ts`, ["--help"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: npm run /)]);
  },
);
