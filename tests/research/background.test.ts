import { describe, expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { enqueueCard } from "../../convex/messenger/model";
import type { Fault } from "../../scripts/standins";
import { type App, test } from "../support/app";
import { agentSays, alert, HOUR, MINUTE, prompts, watchHour } from "../whales/support";

/** A provider fails behind scheduled work, where nobody is told at once: it ends with a reason, and the next works. */

/** A card's state and error while the messenger fails; a queued one is sent afterwards. */
type Card = ["queued" | "failed", string];

const REFUSED = "The agent API refused this service's key";
const LIMITED = "The agent API is limiting this service's requests";
const UNUSABLE = "The agent API sent an unusable answer";
const UNREACHABLE = "The agent API could not be reached";
const SILENT: Card = ["queued", "The messenger cannot be reached"];
const NONSENSE: Card = ["failed", "The messenger answered with status 200"];
const BUSY: Card = ["queued", "Too Many Requests: retry after 400"];

/** The fault, the note of the hour's watch, the card, and how often that arrives: what may have arrived comes once more. */
const cases: [string, Fault, string, Card, number][] = [
  ["refuses", { mode: "status", status: 403 }, REFUSED, ["failed", "Forbidden"], 0],
  ["fails", { mode: "status", status: 500 }, "The agent API answered with status 500", SILENT, 1],
  ["is overloaded", { mode: "status", status: 429, retryAfter: 400 }, LIMITED, BUSY, 1],
  ["talks rubbish", { mode: "garbage" }, UNUSABLE, NONSENSE, 2],
  ["breaks off in the middle", { mode: "drop", half: true }, UNREACHABLE, SILENT, 2],
  ["hangs up", { mode: "drop" }, UNREACHABLE, SILENT, 2],
  ["is too slow", { mode: "slow" }, "The agent API did not answer in time", SILENT, 1],
];

/** Two hours at most: a card that waits longer has not been sent. */
async function passUntilSent(app: App): Promise<void> {
  const isWaiting = async () => (await app.rows("messages")).some(({ state }) => state === "queued");
  for (let passed = 0; passed < 2 * HOUR && (await isWaiting()); passed += 10 * MINUTE)
    await app.pass(10 * MINUTE);
}

const send = (app: App, text: string) =>
  app.t.run((ctx) =>
    enqueueCard(ctx, { userId: "alice", chatId: "7", kind: "a card", paragraphs: [[text]] }),
  );

describe.each(cases)("a provider that %s", (_, fault, note, card, arrivals) => {
  test("ends the hour's watch with a reason; the next hour has its alerts", async ({ app }) => {
    deadlines.agentApi = 100;
    app.standins.fail("agent", fault);
    await watchHour(app);
    expect(JSON.stringify(app.logged)).toContain(note);
    expect(await app.rows("whaleAlerts")).toEqual([]);
    // It may have become a job, so it is not sent again.
    expect(prompts(app)).toHaveLength(1);

    app.standins.clear();
    agentSays(app, [alert()]);
    await watchHour(app);
    expect(await app.rows("whaleAlerts")).toHaveLength(1);
  });

  test("keeps a card or gives it up with a reason; the next card arrives", async ({ app }) => {
    deadlines.messenger = 100;
    app.standins.fail("messenger", fault);
    await send(app, "first");
    await app.pass(20 * MINUTE);
    const [first] = await app.rows("messages");
    expect([first?.state, first?.error]).toEqual(card);

    app.standins.clear();
    await send(app, "second");
    await passUntilSent(app);
    const ends = [card[0] === "queued" ? "sent" : "failed", "sent"];
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual(ends);
    const count = (text: string) => app.cards().filter((one) => one.text.endsWith(`\n\n${text}`)).length;
    expect([count("first"), count("second")]).toEqual([arrivals, 1]);
  });
});
