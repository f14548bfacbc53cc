import { describe, expect } from "vitest";
import { test } from "../support/app";
import { BROWSER, openPage } from "./support";

/** Who gets a page and who gets JSON, and which addresses there are. */

test("a page is for whoever puts HTML before JSON, and everybody else gets JSON as ever", async ({ app }) => {
  const asked: [string | null, "html" | "json"][] = [
    [BROWSER, "html"],
    ["text/html", "html"],
    ["text/html, */*", "html"],
    ["text/*", "html"],
    ["text/html, application/json", "html"],
    ["application/json;q=0.5, text/html;q=0.9", "html"],
    ["TEXT/HTML ; Q=1.0", "html"],
    [null, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["application/json, text/html", "json"],
    ["application/json, text/plain, */*", "json"],
    ["text/html;q=0.1, application/json;q=0.2", "json"],
    ["text/html;q=0", "json"],
    ["text/html;q=nonsense", "json"],
    ["application/*, text/html;q=0.9", "json"],
  ];
  const answered: typeof asked = [];
  for (const [accept] of asked) {
    const init = accept === null ? {} : { headers: { Accept: accept } };
    const { status, headers, body } = await app.get("/", init);
    expect([status, headers.get("vary")]).toEqual([200, "Accept"]);
    const isPage = headers.get("content-type") === "text/html; charset=utf-8";
    if (!isPage) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(Object.keys(body)).toEqual(["service", "version", "links"]);
    }
    answered.push([accept, isPage ? "html" : "json"]);
  }
  expect(answered).toEqual(asked);
});

describe("the address of a signal", () => {
  test("hides none of its neighbours, whatever is accepted and however they are asked", async ({ app }) => {
    for (const name of ["latest", "history", "proof", "winrate"]) {
      const { status, headers } = await openPage(app, `/signals/${name}`);
      expect([name, status, headers.get("content-type")]).toEqual([name, 200, "application/json"]);
      const refused = await app.post(`/signals/${name}`);
      expect([name, refused.status, refused.headers.get("allow")]).toEqual([name, 405, "GET, OPTIONS"]);
    }
  });

  test("is one whole segment: everything else below it is nowhere", async ({ app }) => {
    for (const path of ["/signals/", "/signals", "/signals/BTC-2026-01-05/more", "/signals/%E0%A4%A"]) {
      const { status, headers } = await openPage(app, path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 404, "text/html; charset=utf-8"]);
      expect(Object.keys((await app.get(path)).body)).toEqual(["error"]);
    }
  });

  test("tells which methods it takes, and of a signal that is none", async ({ app }) => {
    const posted = await app.post("/signals/BTC-2026-01-05");
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
    const preflight = await app.call("OPTIONS", "/signals/BTC-2026-01-05");
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST, PUT, DELETE");
    for (const id of ["BTC-2026-01-05", "DOGE-2026-01-05", "nonsense", "BTC-%3Cscript%3E"]) {
      const { status, body } = await app.get(`/signals/${id}`);
      expect([id, status]).toEqual([id, 404]);
      expect(body.error).toContain("There is no signal");
    }
    expect((await app.get(`/signals/${"x".repeat(41)}`)).status).toBe(400);
  });
});
