import { expect, test } from "vitest";
import * as z from "zod";
import { createStandins } from "../../scripts/standins/index";
import { get, post, START } from "./support";

const jobShape = z.looseObject({ jobId: z.string(), status: z.string(), response: z.string().optional() });

function agent() {
  let at = START;
  const standins = createStandins({ seed: "tests", now: () => at });
  const prompt = async (text: string) => {
    const response = await post(standins, "/agent-api/agent/prompt", { prompt: text });
    expect(response.status).toBe(202);
    return jobShape.parse(await response.json()).jobId;
  };
  const job = async (id: string) =>
    jobShape.parse(await (await get(standins, `/agent-api/agent/job/${id}`)).json());
  return { standins, prompt, job, wait: (ms: number) => (at += ms) };
}

test("cancelling is idempotent, and too late for a completed job", async () => {
  const { standins, prompt, job, wait } = agent();
  const cancel = (id: string) => post(standins, `/agent-api/agent/job/${id}/cancel`, "");
  const [one, two] = [await prompt("a"), await prompt("a")];
  expect(one).not.toBe(two);
  expect((await cancel(one)).status).toBe(200);
  expect((await cancel(one)).status).toBe(200);
  wait(10_000);
  expect((await job(one)).status).toBe("cancelled");
  const late = await cancel(two);
  expect(late.status).toBe(400);
  expect(await late.json()).toMatchObject({ error: "Job already completed" });
  expect((await cancel("job_none")).status).toBe(404);
});

test("refuses without a key, and too long a prompt", async () => {
  const { standins } = agent();
  const path = "/agent-api/agent/prompt";
  expect(
    (await post(standins, path, { prompt: "x" }, { headers: { Authorization: "Bearer k" } })).status,
  ).toBe(401);
  expect((await post(standins, path, { prompt: "" })).status).toBe(400);
  const long = await post(standins, path, { prompt: "x".repeat(10_001) });
  expect(await long.json()).toMatchObject({ error: "Prompt too long" });
});

test("a job ends as it was told to: with an answer, in failure, or never", async () => {
  const { standins, prompt, job, wait } = agent();
  standins.fail("agent", { mode: "reply", content: "Nothing to see", times: 1 });
  standins.fail("agent", { mode: "fails", times: 1 });
  standins.fail("agent", { mode: "never", times: 1 });
  const [told, failing, endless] = [await prompt("a"), await prompt("a"), await prompt("a")];
  wait(60_000);
  expect(await job(told)).toMatchObject({ status: "completed", response: "Nothing to see" });
  expect(await job(failing)).toMatchObject({ status: "failed", success: true });
  expect(await job(endless)).toMatchObject({ status: "processing", cancellable: true });
  const late = await post(standins, `/agent-api/agent/job/${failing}/cancel`, "");
  expect(await late.json()).toMatchObject({ error: "Job already failed" });
});
