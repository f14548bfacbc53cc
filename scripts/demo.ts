import { command, Misuse } from "./command";

/**
 * `npm run demo`: shows the service at work, with simulated providers and time. `npm run demo -- signals` shows 60 days of
 * trading signals; without a name it is an 8-hour research shift.
 */

const demos: Record<string, () => Promise<{ play: (json: boolean) => Promise<number> }>> = {
  research: () => import("./demo/research"),
  signals: () => import("./demo/signals"),
};

const USAGE = `Usage: npm run demo [-- NAME] [--json]

  research   a research shift of eight hours, in less than a minute (the default)
  signals    60 days of trading signals and their record

  --json     prints the outcome as JSON on stdout, and the progress on stderr`;

const flags = { json: { type: "boolean", default: false } } as const;
await command({ usage: USAGE, flags, most: 1 }, async ({ values, positionals: [wanted = "research"] }) => {
  const demo = demos[wanted];
  if (demo === undefined) throw new Misuse(`There is no demo named ${wanted}`);
  return (await demo()).play(values.json);
});
process.exit();
