import { describe, expect, test } from "vitest";
import { assertDocumented } from "../support/document";

const COMMON = {
  "content-type": "application/json",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Request-Id",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-request-id": "5f785860-76ba-42f3-a1ab-56ae85180260",
};

function check(
  request: string,
  status: number,
  body: unknown,
  headers: Record<string, string | null> = {},
): () => void {
  const [method = "", path = ""] = request.split(" ");
  const all = new Headers();
  for (const [name, value] of Object.entries({ ...COMMON, ...headers })) {
    if (value !== null) all.set(name, value);
  }
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return () => assertDocumented(method, path, { status, headers: all, text });
}

const stopped = { success: true, stopped: 0 };

describe("the check of every answer lets pass", () => {
  test.each([
    ["a documented answer", check("POST /mcp/research/stop", 200, stopped)],
    ["a documented failure", check("POST /mcp/research/stop?x=1", 400, { error: "userId is required" })],
    ["an unknown path", check("GET /nowhere", 404, { error: "no" })],
    ["another method", check("GET /mcp/research/stop", 405, { error: "no" }, { allow: "POST" })],
    ["a preflight", check("OPTIONS /any", 204, "", { "access-control-allow-methods": "GET" })],
    ["a page", check("GET /docs", 200, "<!doctype html>", { "content-type": "text/html; charset=utf-8" })],
  ])("%s", (_name, act) => expect(act).not.toThrow());
});

describe("the check of every answer fails", () => {
  test.each([
    [
      "an undocumented status",
      check("POST /mcp/research/stop", 418, { error: "no" }),
      "status is not documented",
    ],
    ["a missing field", check("POST /mcp/research/stop", 200, { success: true }), "stopped"],
    ["a wrong type", check("POST /mcp/research/stop", 200, { ...stopped, stopped: "0" }), "must be integer"],
    [
      "an extra field",
      check("POST /mcp/research/stop", 200, { ...stopped, more: 1 }),
      "additional properties",
    ],
    [
      "an error with more than its text",
      check("POST /mcp/research/stop", 400, { error: "no", key: 1 }),
      "additional",
    ],
    ["a body that is no JSON", check("POST /mcp/research/stop", 200, "<html>"), "not JSON"],
    ["no request id", check("GET /nowhere", 404, { error: "no" }, { "x-request-id": null }), "X-Request-Id"],
    [
      "a closed origin",
      check("GET /nowhere", 404, { error: "no" }, { "access-control-allow-origin": null }),
      "any origin",
    ],
    [
      "an undocumented header",
      check("POST /mcp/research/stop", 200, stopped, { "set-cookie": "a=b" }),
      "set-cookie is not documented",
    ],
    [
      "an answer that may be kept",
      check("POST /mcp/research/stop", 200, stopped, { "cache-control": null }),
      "Cache-Control is missing",
    ],
    ["a limit without Retry-After", check("POST /mcp/chat", 429, { error: "no" }), "Retry-After is missing"],
    [
      "another content type",
      check("POST /mcp/research/stop", 200, stopped, { "content-type": "text/plain" }),
      "content type",
    ],
    ["an unknown path that is answered", check("GET /nowhere", 200, {}), "should be 404"],
    ["another method that is answered", check("GET /mcp/research/stop", 200, stopped), "allowed methods"],
    ["a preflight with a body", check("OPTIONS /any", 204, {}), "preflight"],
  ])("%s", (_name, act, reason) => expect(act).toThrow(reason));
});
