import { expect } from "vitest";
import { test } from "../support/app";
import { textOf, type Answer, service, proxy, useProxy } from "./support";

/** A whole research shift as a person in a chat sees it, in simulated time. */

const MINUTE = 60_000;

useProxy();

test("a shift's final report can be read when its 8 hours are over", async ({ app }) => {
  const fromApp: Answer = (response, { method, path, body, headers }) => {
    const key = headers["idempotency-key"];
    const init = {
      ...(method === "GET" ? {} : { body }),
      headers: typeof key === "string" ? { "Idempotency-Key": key } : {},
    };
    void app.call(method, path, init).then(({ status, headers: sent, text }) => {
      response.writeHead(status, { "content-type": sent.get("content-type") ?? "" }).end(text);
    });
  };
  service.answers(fromApp);
  const userId = crypto.randomUUID();
  await proxy.call("start_research", { userId, token: "SOL" });
  const status = async () => textOf(await proxy.call("get_research_status", { userId }));
  // A report takes some minutes to write.
  await app.pass(150 * MINUTE + 10 * MINUTE);
  const after = await status();
  expect(after).toMatch(/UTC, interim, /);
  expect(after).not.toMatch(/UTC, final, /);
  await app.pass(330 * MINUTE);
  expect(await status()).toMatch(
    /^No research shift is active\.\nThe last shift to end was completed at .* UTC, with a final report\. Job: .*\nLatest reports:\n- .*UTC, final, /,
  );

  const report = await proxy.call("get_research_report", { token: "sol" });
  expect(textOf(report)).toMatch(/^Final report on SOL, .*UTC\n[🟢🔴🟡] .*\nOutlook: [🟢🔴🟡] \w+\n\n- /u);
});
