import { createFunctionHandle } from "convex/server";
import { beforeAll, describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { ANSWER, enqueueCard } from "../../convex/messenger/model";
import { renderPng } from "../../convex/pictures/drawings";
import { samplePrices } from "../pages/support";
import { buy, EIGHT, HOUR, issue, issued } from "../signals/support";
import { insertSignals } from "../support/rows/signalRows";
import { test as appTest, type App } from "../support/app";
import { measure } from "../support/usage";

const test = appTest.extend({ settings: { now: EIGHT, pictures: true } });
const testBefore = appTest.extend({ settings: { now: EIGHT - 2 * HOUR, pictures: true } });

// The renderer is loaded in real time, during which simulated time would run ahead.
beforeAll(
  async () => void (await renderPng('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')),
);

const PICTURE = { width: 1_000, height: 500, bytes: expect.any(Number) };
const LONG = "word ".repeat(300);

/** A condition whose picture has something to show. */
async function drawable(app: App): Promise<string> {
  await samplePrices(app, [100, 101, 102]);
  return toSubject("BTC");
}

const toSubject = (token: string) =>
  JSON.stringify({ kind: "price", token, direction: "above", levelUsd: 110 });

/** Queues a card with a picture: an answer to the chat that asked, unless it is said to be another kind of card. */
async function send(app: App, words: string, subject: string, { kind = ANSWER, fails = false } = {}) {
  await app.t.run(async (ctx) => {
    const { signals, alert } = internal.pictures.drawings;
    const handle = await createFunctionHandle(fails ? signals : alert);
    const paragraphs = words.split("\n\n").map((paragraph) => [paragraph]);
    const to = { userId: "alice", chatId: "7", bot: "default" } as const;
    await enqueueCard(ctx, { ...to, kind, paragraphs, picture: { handle, subject } });
  });
  await app.settle();
}

const sent = (app: App) => app.cards().map(({ method, text, photo }) => [method, text, photo]);

describe("a card with a picture", () => {
  test("is one picture with its words below it, as a PNG file on the wire; a named chat's mark comes first", async ({
    app,
  }) => {
    const subject = await drawable(app);
    // The platform's `set` makes a file without a name and a type of whatever is one.
    class Forgetful extends FormData {
      override set(name: string, value: string | Blob, filename?: string): void {
        if (typeof value === "string") super.set(name, value);
        else super.set(name, new File([value], filename ?? ""));
      }
    }
    vi.stubGlobal("FormData", Forgetful);
    const wire: string[] = [];
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      if (init?.body instanceof FormData) {
        const { body } = init;
        const bytes = await new Request("http://messenger.invalid", { body, method: "POST" }).arrayBuffer();
        wire.push(Buffer.from(bytes).toString("latin1"));
      }
      return fetched(input, init);
    });
    const mark = "✉️ This chat was named for an account of this service. If it is not yours, ignore this.";
    await send(app, "The week\nof BTC", subject);
    await send(app, LONG, subject, { kind: "a card" });
    await send(app, "No prices", toSubject("DOGE"), { kind: "a card" });
    expect(sent(app)).toEqual([
      ["sendPhoto", "The week\nof BTC", PICTURE],
      ["sendPhoto", mark, PICTURE],
      ["sendMessage", `${mark}\n\n${LONG.trim()}`, undefined],
      ["sendMessage", `${mark}\n\nNo prices`, undefined],
    ]);
    expect(wire[0]).toContain(
      'Content-Disposition: form-data; name="photo"; filename="picture.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n',
    );
  });

  test("is a text where there is nothing to draw, drawing fails, or the messenger refuses the picture", async ({
    app,
  }) => {
    const subject = await drawable(app);
    await send(app, LONG, toSubject("DOGE"));
    await send(app, "Broken", "no id", { fails: true });
    app.standins.fail("messenger", { mode: "status", status: 413, times: 1 });
    await send(app, "Too large", subject);
    expect(sent(app)).toEqual([
      ["sendMessage", LONG.trim(), undefined],
      ["sendMessage", "Broken", undefined],
      ["sendMessage", "Too large", undefined],
    ]);
    app.standins.fail("messenger", { mode: "status", status: 403, times: 1 });
    await send(app, "Blocked", toSubject("DOGE"));
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual([
      "sent",
      "sent",
      "sent",
      "failed",
    ]);
  });

  test("is drawn once for all its readers, 25 of whom get it a second, in few calls", async ({ app }) => {
    // A thousand with RUNS.
    const READERS = process.env.RUNS === undefined ? 100 : 1_000;
    const subject = await drawable(app);
    const from = Date.now();
    const { calls, byFunction } = await measure(async () => {
      await app.t.run(async (ctx) => {
        const handle = await createFunctionHandle(internal.pictures.drawings.alert);
        for (let chat = 1; chat <= READERS; chat++) {
          const to = { userId: `user-${chat}`, chatId: `${chat}`, bot: "default" } as const;
          await enqueueCard(ctx, {
            ...to,
            kind: ANSWER,
            paragraphs: [["For all"]],
            picture: { handle, subject },
          });
        }
      });
      await app.settle(READERS / 2.5);
    });
    expect(app.cards().map(({ method }) => method)).toEqual(
      Array.from({ length: READERS }, () => "sendPhoto"),
    );
    expect(new Set(app.cards().map(({ chatId }) => chatId)).size).toBe(READERS);
    const last = Math.max(...app.cards().map(({ at }) => at));
    expect([byFunction.get("pictures/drawings:alert"), last - from < READERS * 60]).toEqual([1, true]);
    expect(calls).toBeLessThanOrEqual(READERS / 2);
  });

  test("is sent once more where its outcome is unknown, and not a third time", async ({ app }) => {
    const subject = await drawable(app);
    app.standins.fail("messenger", { mode: "drop", times: 1 });
    await send(app, "Doubtful", subject);
    await app.pass(5 * MINUTE, { cronsRun: false });
    expect(sent(app)).toEqual([
      ["sendPhoto", "Doubtful", PICTURE],
      ["sendPhoto", "Doubtful", PICTURE],
    ]);
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual(["sent"]);
  });
});

describe("the service's pictures", () => {
  testBefore("show the day's signals once prices are known", async ({ app }) => {
    await samplePrices(app, [99, 101, 100, 100.5]);
    await issued(app, buy);
    expect(sent(app)).toEqual([
      ["sendPhoto", expect.stringMatching(/^<b>📈 Trading signals[^]*Record 2, /), PICTURE],
    ]);
  });

  test("are left out on the first day, when no price is known", async ({ app }) => {
    await issue(app);
    expect(sent(app)).toEqual([["sendMessage", expect.stringContaining("Trading signals"), undefined]]);
  });
});

testBefore(
  "a preview is drawn once for each state of a subject, and only where there is one",
  async ({ app }) => {
    await insertSignals(app, 3);
    const [{ day }] = z
      .tuple([z.object({ day: z.string() })])
      .rest(z.unknown())
      .parse(await app.rows("signals"));
    await app.post("/mcp/research", { token: "BTC" });
    for (const name of [`BTC-${day}`, "record", "coin-BTC", "coin-SOL", "report-BTC", "record"]) {
      const { status, headers } = await app.get(`/pictures/${name}`);
      expect([name, status, headers.get("content-type")]).toEqual([name, 200, "image/png"]);
    }
    const drawn = (await app.rows("answers")).filter(({ key }) => key.startsWith("picture:"));
    expect(drawn).toHaveLength(5);
    for (const { body = "" } of drawn) expect(atob(body.split(" ")[1] ?? "").slice(1, 4)).toBe("PNG");
    for (const name of ["BTC-2020-01-01", `SOL-${day}`, "coin-NONE", "report-NONE", "report", "other"])
      expect([name, (await app.get(`/pictures/${name}`)).status]).toEqual([name, 404]);
  },
);
