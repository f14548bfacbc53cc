import { cronJobs, makeFunctionReference } from "convex/server";

const crons = cronJobs();
crons.interval("note the hour", { hours: 1 }, makeFunctionReference<"mutation">("notes:write"), {
  text: "cron",
});

export default crons;
