import { Workpool } from "@convex-dev/workpool";
import { components } from "../_generated/api";

/**
 * Outside calls of scheduled work wait here. The small platform class runs 8 scheduled jobs at once: these two pools
 * leave room for their own loops and for work that a caller is waiting for.
 */
export const researchPool = new Workpool(components.researchPool, { maxParallelism: 4, logLevel: "WARN" });
export const deliveryPool = new Workpool(components.deliveryPool, { maxParallelism: 2, logLevel: "WARN" });
