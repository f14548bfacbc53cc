import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listen, type Listener } from "../../scripts/sockets";
import { until } from "../support/waits";
import { createStandins, type Standins } from "../../scripts/standins/index";

const HOST = "127.0.0.1";
let standins: Standins;
let served: Listener;

beforeEach(async () => {
  standins = createStandins();
  served = await listen(0, "PROVIDERS_PORT", (request) => standins.handle(request));
});
afterEach(() => served.close());

const say = (init: RequestInit = {}) =>
  fetch(`${standins.env(served.url)["MESSENGER_API_URL"]}/bot1:AAE/sendMessage`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ chat_id: 1, text: "grüß" }),
    ...init,
  });

test("answers over HTTP", async () => {
  const response = await say();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ ok: true, result: { text: "grüß" } });
  expect((await fetch(`${served.url}/nothing`)).status).toBe(404);
});

test("a lost connection breaks the connection", async () => {
  standins.fail("messenger", { mode: "drop", times: 1 });
  await expect(say()).rejects.toThrow(TypeError);
  standins.fail("messenger", { mode: "drop", half: true, times: 1 });
  const half = await say();
  expect(half.status).toBe(200);
  await expect(half.text()).rejects.toThrow(TypeError);
  expect(standins.sent("messenger")).toHaveLength(2);
});

test("a slow answer ends when the caller gives up", async () => {
  standins.fail("llm", { mode: "slow", times: 1 });
  const caller = new AbortController();
  const asked = fetch(`${served.url}/llm/v1/models`, { signal: caller.signal });
  asked.catch(() => undefined);
  await until(() => standins.sent("llm").length === 1);
  caller.abort();
  await expect(asked).rejects.toMatchObject({ name: "AbortError" });
  expect((await say()).status).toBe(200);
});

test("no web page from elsewhere is answered, nor a name of its own that leads to this machine", async () => {
  const { host, port } = new URL(served.url);
  const control = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const init = { host: HOST, port, path: "/_control", method: "POST", headers };
      request(init, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end('{"clear":true}');
    });
  expect(await control({ host })).toBe(200);
  expect(await control({ host, origin: "http://localhost:5173" })).toBe(200);
  expect(await control({ host: `localhost:${port}` })).toBe(200);
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1.evil.example"]) {
    expect(await control({ host, origin })).toBe(403);
  }
  expect(await control({ host: `rebound.example:${port}` })).toBe(403);
});
