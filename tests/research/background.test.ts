import { expect, vi } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { enqueueCard } from "../../convex/messenger/model";
import type { Fault } from "../../scripts/standins";
import { test } from "../support/app";
import { agentSays, alert, HOUR, MINUTE, prompts, watchNow } from "../whales/support";

/** A provider fails behind scheduled work, where nobody is told at once: it ends with a reason, and the next works. */

const REFUSED = "The agent API refused this service's key";
const LIMITED = "The agent API is limiting this service's requests";
const UNUSABLE = "The agent API sent an unusable answer";
const UNREACHABLE = "The agent API could not be reached";
const SILENT = "The messenger cannot be reached";
const NONSENSE = "The messenger answered with status 200";
const BUSY = "Too Many Requests: retry after 400";

/** The fault, the note of the hour's watch, the card's error, and how often that arrives: what may have arrived comes once more. */
const cases: [string, Fault, string, string, number][] = [
  ["refuses", { mode: "status", status: 403 }, REFUSED, "Forbidden", 0],
  ["fails", { mode: "status", status: 500 }, "The agent API answered with status 500", SILENT, 1],
  ["is overloaded", { mode: "status", status: 429, retryAfter: 400 }, LIMITED, BUSY, 1],
  ["talks rubbish", { mode: "garbage" }, UNUSABLE, NONSENSE, 2],
  ["breaks off in the middle", { mode: "drop", half: true }, UNREACHABLE, SILENT, 2],
  ["hangs up", { mode: "drop" }, UNREACHABLE, SILENT, 2],
  ["is too slow", { mode: "slow" }, "The agent API did not answer in time", SILENT, 1],
];
/** The errors with which a card is given up. */
const FINAL = ["Forbidden", NONSENSE];

/** The clock stands at the next full hour. */
const nextHour = () => vi.setSystemTime(Date.now() + HOUR - (Date.now() % HOUR));

test("an agent that fails ends its hour's watch with a reason; the next hour has its alerts", async ({
  app,
}) => {
  deadlines.agentApi = 100;
  for (const [index, [name, fault, note]] of cases.entries()) {
    app.standins.fail("agent", fault);
    const before = app.logged.length;
    await watchNow(app);
    expect([name, JSON.stringify(app.logged.slice(before))]).toEqual([name, expect.stringContaining(note)]);
    // It may have become a job, so it is not sent again.
    expect([name, prompts(app).length]).toEqual([name, index + 1]);
    app.standins.clear();
    nextHour();
  }
  expect(await app.rows("whaleAlerts")).toEqual([]);
  agentSays(app, [alert()]);
  await watchNow(app);
  expect(await app.rows("whaleAlerts")).toHaveLength(1);
});

test("a messenger keeps a card or gives it up with a reason, whatever it does; the next card arrives", async ({
  app,
}) => {
  deadlines.messenger = 100;
  const send = (text: string) =>
    app.t.run((ctx) =>
      enqueueCard(ctx, { userId: "alice", chatId: "7", kind: "a card", paragraphs: [[text]] }),
    );
  for (const [name, fault, , error, arrivals] of cases) {
    app.standins.fail("messenger", fault);
    await send(name);
    await app.pass(MINUTE);
    const row = (await app.rows("messages")).at(-1);
    expect([name, row?.state, row?.error]).toEqual([
      name,
      FINAL.includes(error) ? "failed" : "queued",
      error,
    ]);
    app.standins.clear();
    await send(`after ${name}`);
    // At most two hours: a card that waits longer has not been sent.
    await app.pass(2 * HOUR, { cronsRun: false });
    const count = (text: string) => app.cards().filter((one) => one.text.endsWith(`\n\n${text}`)).length;
    expect([name, count(name), count(`after ${name}`)]).toEqual([name, arrivals, 1]);
  }
  expect((await app.rows("messages")).map(({ state }) => state)).not.toContain("queued");
});
