import type { GenericValidator } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import { conditionShape } from "../convex/alerts/grammar";
import { coin, marketFigures, marketSource, rowSource, tokenFigures } from "../convex/market/shapes";
import { intentShape } from "../convex/social/prompts";
import { shadowLab } from "../convex/signals/arms/shapes";
import { proposalShape } from "../convex/signals/desk/prompts";
import { anchorShape, chainHead, shadowEvent, signalEvent } from "../convex/signals/record/events";
import { standing } from "../convex/signals/statistics/shapes";
import { movement, publicAlertShape } from "../convex/whales/shapes";

/** Which shapes are stored, by the file of `convex/` that has their validators. */
export const STORED: Readonly<
  Record<string, { from: string; validators: Record<string, GenericValidator> }>
> = {
  "alerts/stored": {
    from: "alerts/grammar",
    validators: { vCondition: zodOutputToConvex(conditionShape) },
  },
  "market/stored": {
    from: "market/shapes",
    validators: {
      vRowSource: zodOutputToConvex(rowSource),
      vCoin: zodOutputToConvex(coin),
      vTokenFigures: zodOutputToConvex(tokenFigures),
      vMarketFigures: zodOutputToConvex(marketFigures),
      vMarketSource: zodOutputToConvex(marketSource),
    },
  },
  "signals/stored": {
    from: "signals",
    validators: {
      vProposal: zodOutputToConvex(proposalShape),
      vStanding: zodOutputToConvex(standing),
      vSignalEvent: zodOutputToConvex(signalEvent),
      vShadowEvent: zodOutputToConvex(shadowEvent),
      vHead: zodOutputToConvex(chainHead.nullable()),
      vAnchor: zodOutputToConvex(anchorShape),
      vLab: zodOutputToConvex(shadowLab),
    },
  },
  "social/stored": {
    from: "social/prompts",
    validators: { vIntent: zodOutputToConvex(intentShape) },
  },
  "whales/stored": {
    from: "whales/shapes",
    validators: {
      vPublicAlert: zodOutputToConvex(publicAlertShape),
      vMovement: zodOutputToConvex(movement),
    },
  },
};
