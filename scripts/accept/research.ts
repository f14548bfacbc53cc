import * as z from "zod";
import { same, require, type Row } from "./row";
import type { Service } from "./service";
import { onDemand, paymentTerms, report, shiftStatus, started } from "./shapes";

/** The contract's rows on research: on demand, by shifts, and paid for. */

const SHIFT_MS = 8 * 3_600_000;
const TOKEN = "SOL";

export function researchRows(service: Service, userId: string): Row[] {
  const { get, post } = service;
  const stop = async () =>
    (await post("/mcp/research/stop", { userId })).as(
      z.object({ success: z.literal(true), stopped: z.int() }),
    ).stopped;
  const status = async () => (await get("/mcp/research/status", { userId })).as(shiftStatus);

  return [
    {
      says: "POST /mcp/research returns a ResearchResult, cached for 15 minutes",
      look: async () => {
        const first = (await post("/mcp/research", { userId })).as(onDemand);
        const again = (await post("/mcp/research", {})).as(onDemand);
        same("generatedAt of the second answer", again.result.generatedAt, first.result.generatedAt);
      },
    },
    {
      says: "POST /mcp/research takes a focus by ticker and by name",
      look: async () => {
        const byTicker = (await post("/mcp/research", { token: "BTC" })).as(onDemand);
        const byName = (await post("/mcp/research", { token: "Bitcoin" })).as(onDemand);
        same("generatedAt by name", byName.result.generatedAt, byTicker.result.generatedAt);
      },
    },
    {
      says: "A shift starts with eight hours to run, is shown as active, and stops",
      look: async () => {
        await stop();
        const shift = (await post("/mcp/research/start", { userId, token: TOKEN })).as(started);
        same("stopsAt - startedAt", shift.stopsAt - shift.startedAt, SHIFT_MS);
        const { activeJob } = await status();
        same("activeJob.jobId", activeJob?.jobId, shift.jobId);
        same("activeJob.interimReportsCount", activeJob?.interimReportsCount, 0);
        same("activeJob.finalReportSent", activeJob?.finalReportSent, false);
        same("stopped", await stop(), 1);
        same("stopped, the second time", await stop(), 0);
        same("activeJob after the stop", (await status()).activeJob, null);
      },
    },
    {
      says: "GET /mcp/research/report returns the latest report on a token, or 404 while there is none",
      look: async () => {
        const answer = await get("/mcp/research/report", { token: TOKEN });
        if (answer.status === 404) answer.error(404);
        else same("jobToken", answer.as(report).jobToken, TOKEN);
      },
    },
    {
      says: "POST /agent/research/paid without X-Payment answers 402 with its terms",
      look: async () =>
        void (await post("/agent/research/paid", { userId, token: "BTC" })).as(paymentTerms, 402),
    },
    {
      says: "POST /agent/research/paid sells nothing if the proof shows no payment",
      look: async () => {
        const noProof = await post("/agent/research/paid", { userId, token: "BTC" }, { "X-Payment": "paid" });
        noProof.error(402);
        const unknown = `0x${"0123456789abcdef".repeat(4)}`;
        const proof = await post("/agent/research/paid", { userId, token: "BTC" }, { "X-Payment": unknown });
        require(proof.status !== 200, "A transaction that nobody made bought a report");
        proof.error(402);
      },
    },
  ];
}
