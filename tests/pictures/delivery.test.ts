import { createFunctionHandle } from "convex/server";
import { beforeAll, describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { enqueueCard } from "../../convex/messenger/model";
import { pngOf } from "../../convex/pages/pictures";
import { ANSWER } from "../../convex/messenger/model";
import { test as appTest, type App } from "../support/app";
import { samplePrices } from "../pages/support";
import { buy, EIGHT, HOUR, issue, issued } from "../signals/support";

const test = appTest.extend({ settings: { now: EIGHT, pictures: true } });
const testBefore = appTest.extend({ settings: { now: EIGHT - 2 * HOUR, pictures: true } });

// The renderer is loaded in real time, during which simulated time would run ahead.
beforeAll(async () => void (await pngOf('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')));

const MINUTE = 60_000;
const PICTURE = { width: 1_000, height: 500, bytes: expect.any(Number) };

/** Queues a card with a picture: an answer to the chat that asked, unless it is said to be another kind of card. */
async function send(
  app: App,
  words: string,
  drawing: "drawn" | "failing" | "missing",
  kind: string = ANSWER,
): Promise<void> {
  await app.t.run(async (ctx) => {
    for (const hour of [1, 2]) {
      const close = { token: "BTC", priceUsd: 100 + hour, source: "coinbase" } as const;
      const hourEndsAt = EIGHT - hour * HOUR;
      await ctx.db.insert("hourlyCloses", { ...close, hourEndsAt, takenAt: hourEndsAt - MINUTE });
    }
    const { signals, week } = internal.pages.pictures;
    const handle = await createFunctionHandle(drawing === "failing" ? signals : week);
    const subject = { drawn: "2026-01-05", failing: "no id", missing: "2025-12-29" }[drawing];
    const paragraphs = words.split("\n\n").map((paragraph) => [paragraph]);
    await enqueueCard(ctx, {
      userId: "alice",
      chatId: "7",
      bot: "default",
      kind,
      paragraphs,
      picture: { handle, subject },
    });
  });
  await app.settle();
}

const sent = (app: App) => app.cards().map(({ method, text, photo }) => [method, text, photo]);

describe("a card with a picture", () => {
  test("is one picture with its words below it; long words come behind it", async ({ app }) => {
    await send(app, "The week\nof BTC", "drawn");
    await send(app, "word ".repeat(300), "drawn");
    expect(sent(app)).toEqual([
      ["sendPhoto", "The week\nof BTC", PICTURE],
      ["sendPhoto", "", PICTURE],
      ["sendMessage", "word ".repeat(300).trim(), undefined],
    ]);
    expect((await app.rows("messages")).map(({ state, partsSent }) => [state, partsSent])).toEqual([
      ["sent", 1],
      ["sent", 2],
    ]);
  });

  test("leaves as a PNG file, on the wire, where the platform forgets the type of a Blob", async ({
    app,
  }) => {
    // The platform makes a file without a type of whatever comes with a name.
    class Forgetful extends FormData {
      override set(name: string, value: string | Blob, filename?: string): void {
        if (typeof value === "string") super.set(name, value);
        else if (value instanceof File && filename === undefined) super.set(name, value);
        else super.set(name, new File([value], filename ?? "blob"));
      }
    }
    vi.stubGlobal("FormData", Forgetful);
    const wire: Buffer[] = [];
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      if (!(init?.body instanceof FormData)) return fetched(input, init);
      const request = new Request("http://messenger.invalid", init);
      wire.push(Buffer.from(await request.clone().arrayBuffer()));
      return fetched(input, init);
    });
    await send(app, "The week", "drawn");
    const [bytes = Buffer.alloc(0)] = wire;
    const head =
      'Content-Disposition: form-data; name="photo"; filename="picture.png"\r\nContent-Type: image/png\r\n\r\n';
    const start = bytes.indexOf(head);
    expect(bytes.toString("latin1")).toContain(head);
    expect(
      bytes
        .subarray(start + head.length)
        .toString("latin1")
        .slice(0, 8),
    ).toBe("\x89PNG\r\n\x1a\n");
  });

  test("for a chat that somebody has named is marked before anything else is read", async ({ app }) => {
    const mark = "✉️ This chat was named for an account of this service. If it is not yours, ignore this.";
    await send(app, "The week", "drawn", "a card");
    await send(app, "word ".repeat(300), "drawn", "a card");
    await send(app, "No prices", "missing", "a card");
    expect(sent(app)).toEqual([
      ["sendPhoto", `${mark}\n\nThe week`, PICTURE],
      ["sendPhoto", mark, PICTURE],
      ["sendMessage", "word ".repeat(300).trim(), undefined],
      ["sendMessage", `${mark}\n\nNo prices`, undefined],
    ]);
  });

  test("is a text where there is nothing to draw, or drawing fails", async ({ app }) => {
    await send(app, "No prices", "missing");
    await send(app, "Broken", "failing");
    await send(app, "word ".repeat(300), "missing");
    expect(sent(app)).toEqual([
      ["sendMessage", "No prices", undefined],
      ["sendMessage", "Broken", undefined],
      ["sendMessage", "word ".repeat(300).trim(), undefined],
    ]);
  });

  test("is a text where the messenger refuses the picture", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 400, times: 1 });
    await send(app, "Refused", "drawn");
    app.standins.fail("messenger", { mode: "status", status: 413, times: 1 });
    await send(app, "Too large", "drawn");
    expect(sent(app)).toEqual([
      ["sendMessage", "Refused", undefined],
      ["sendMessage", "Too large", undefined],
    ]);
    app.standins.fail("messenger", { mode: "status", status: 403, times: 1 });
    await send(app, "Blocked", "drawn");
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual(["sent", "sent", "failed"]);
  });

  test("is sent once more where its outcome is unknown, and not a third time", async ({ app }) => {
    app.standins.fail("messenger", { mode: "drop", times: 1 });
    await send(app, "Doubtful", "drawn");
    await app.pass(5 * MINUTE);
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
      ["sendPhoto", expect.stringMatching(/^<b>📈 Trading signals[^]*Record 2: /), PICTURE],
    ]);
  });

  test("are left out on the first day, when no price is known", async ({ app }) => {
    await issue(app);
    expect(sent(app)).toEqual([["sendMessage", expect.stringContaining("Trading signals"), undefined]]);
  });
});
