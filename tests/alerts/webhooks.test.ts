import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { START, test } from "../support/app";
import { addWebhook, deliveries, fired, pass, receiver, silence, URL_ } from "./receivers";
import { DAY, HOUR, MINUTE, priced, tick } from "./support";

describe("a webhook", () => {
  test("is told once where the answer has come, and its body breaks off", async ({ app }) => {
    const broken = () => new ReadableStream({ cancel: () => Promise.reject(new Error("reset")) });
    const posted = receiver(() => new Response(broken()));
    await addWebhook(app);
    await fired(app);
    await pass(app, HOUR, 10 * MINUTE);
    expect(posted).toHaveLength(1);
  });

  test("gets what has fired with a signature to verify, and its secret is told once", async ({ app }) => {
    const posted = receiver(() => new Response("thanks"));
    const { secret } = await addWebhook(app);
    await fired(app);
    expect(posted).toHaveLength(1);
    const [{ headers, body, redirect } = { headers: new Headers(), body: "", redirect: "follow" }] = posted;
    expect([redirect, headers.get("content-type")]).toEqual(["manual", "application/json"]);
    const told = new Webhook(secret).verify(body, Object.fromEntries(headers));
    expect(told).toMatchObject({
      type: "alert.fired",
      data: { words: "BTC at $110 or above", observation: { value: 120, source: "coinbase" } },
    });
    const [id, time] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    expect(key).toHaveLength(32);
    const mac = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
    expect(headers.get("webhook-signature")).toBe(`v1,${mac}`);
    expect(Number(time)).toBe(Math.floor((posted[0]?.at ?? 0) / 1000));
    const listed = await app.get("/webhooks?userId=alice");
    for (const text of [listed.text, JSON.stringify(await app.rows("webhooks"))])
      expect(text).not.toContain(secret.slice(6, 30));
    await pass(app, 10 * MINUTE, MINUTE);
    expect(posted).toHaveLength(1);
    expect(await deliveries(app)).toEqual([["delivered", 1, "Delivered"]]);
  });

  test("that fails is tried again for three days, with growing pauses and one id", async ({ app }) => {
    const answers = [503, 404, 429, 302, 500, 400, 503, 503, 503, 503];
    const posted = receiver(() => new Response(null, { status: answers[posted.length - 1] ?? 200 }));
    await addWebhook(app);
    await fired(app);
    await pass(app, HOUR, MINUTE);
    await pass(app, 4 * DAY, 30 * MINUTE);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-signature"))).size).toBe(10);
    const pauses = posted.slice(1).map(({ at }, i) => (at - (posted[i]?.at ?? 0)) / MINUTE);
    const wanted = [1, 5, 30, 120, 300, 600, 840, 1200, 1200];
    for (const [i, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(wanted[i] ?? NaN);
      expect(pause).toBeLessThanOrEqual((wanted[i] ?? NaN) + 31);
    }
    expect(pauses).toHaveLength(wanted.length);
    expect(wanted.reduce((sum, one) => sum + one) * MINUTE).toBeGreaterThan(2.9 * DAY);
    expect(await deliveries(app)).toEqual([["failed", 10, "It answers with status 503"]]);
    const { body } = await app.get("/webhooks?userId=alice");
    expect(body["webhooks"]).toMatchObject([{ state: "active", problem: "It answers with status 503" }]);
  });

  test("is posted to until it answers: past a redirect, a lost connection and a silence", async ({ app }) => {
    const posted = receiver(({ at, signal }) => {
      if (posted.length === 1) return Response.redirect("https://hooks.example.com/other", 307);
      if (posted.length === 2) throw new TypeError("connection lost");
      if (posted.length === 3) return silence(signal);
      return new Response(String(at));
    });
    await addWebhook(app);
    await fired(app);
    const problems = new Set((await deliveries(app)).map(([, , outcome]) => outcome));
    for (let i = 0; i < 50; i++) {
      await pass(app, MINUTE, MINUTE);
      if (posted.length === 3) await app.advance(11_000);
      for (const [, , outcome] of await deliveries(app)) problems.add(outcome);
    }
    expect([...problems]).toEqual([
      ...["It redirects", "It cannot be reached", "It does not answer in time", "Delivered"],
    ]);
    expect(posted.map(({ url }) => url)).toEqual([URL_, URL_, URL_, URL_]);
  });

  test("that answers 410 ends and gets nothing more; a silent one delays no other", async ({ app }) => {
    const posted = receiver(({ url }) => {
      if (url.includes("gone")) return new Response(null, { status: 410 });
      return url.includes("dead") ? new Response(null, { status: 500 }) : new Response();
    });
    await addWebhook(app, "https://gone.example.com/");
    await addWebhook(app, "https://dead.example.com/");
    const { webhookId } = await addWebhook(app, "https://live.example.com/");
    const fourth = await app.post("/webhooks", { userId: "alice", url: URL_ });
    expect(fourth.status).toBe(409);
    await fired(app);
    expect(posted.map(({ url }) => url).toSorted()).toEqual([
      "https://dead.example.com/",
      "https://gone.example.com/",
      "https://live.example.com/",
    ]);
    const { body } = await app.get("/webhooks?userId=alice");
    expect(body["webhooks"]).toMatchObject([
      { url: "https://dead.example.com/", problem: "It answers with status 500" },
      { url: "https://live.example.com/", problem: null },
    ]);
    const [strangers, own] = await Promise.all([
      app.post("/webhooks/off", { userId: "bob", webhookId }),
      app.post("/webhooks/off", { userId: "alice", webhookId }),
    ]);
    expect([strangers.status, own.status]).toEqual([404, 200]);
    await priced(app, START + 2 * HOUR, 100);
    await priced(app, START + 2 * HOUR + 2 * MINUTE, 130);
    await tick(app);
    await pass(app, 10 * MINUTE, MINUTE);
    expect(posted.filter(({ url }) => !url.includes("dead"))).toHaveLength(2);
  });

  test("is posted to with the same secret after the key was changed", async ({ app }) => {
    const posted = receiver(() => new Response());
    const { secret } = await addWebhook(app);
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    expect(await app.t.action(internal.messenger.webhooks.desk.rotate, {})).toEqual({
      rotated: 1,
      failed: [],
    });
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    await fired(app);
    const [{ headers, body } = { headers: new Headers(), body: "" }] = posted;
    expect(() => new Webhook(secret).verify(body, Object.fromEntries(headers))).not.toThrow();
  });
});
