import { afterEach, describe, expect, test } from "vitest";
import { closeApp, createApp } from "../support/app";

afterEach(closeApp);

describe("GET /mcp/market", () => {
  test("answers a snapshot in the contract's shape", async () => {
    const app = createApp();
    const { status, body, headers } = await app.get("/mcp/market");
    console.info(body);
    expect(status).toBe(200);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(body.top20).toHaveLength(20);
  });
});
