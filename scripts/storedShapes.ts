import type { GenericValidator } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import * as z from "zod";
import { conditionShape } from "../convex/alerts/language/conditions";
import { citedSource } from "../convex/evidence/shapes";
import { change, checkedCounts } from "../convex/research/writing/checks";
import { onchainShape, sentimentShape } from "../convex/research/writing/prompts";
import { ownChecks } from "../convex/ops/shapes";
import { answerShape } from "../convex/payments/deposits/payloads";
import { resultShape } from "../convex/research/writing/resultShape";
import {
  coin,
  marketFigures,
  marketSnapshot,
  marketSource,
  rowSource,
  tokenFigures,
} from "../convex/market/shapes";
import { shiftStatus } from "../convex/research/views";
import { intentShape } from "../convex/social/posts/prompts";
import { shadowLab } from "../convex/signals/arms/shapes";
import { proposalShape } from "../convex/signals/desk/prompts";
import {
  anchorShape,
  chainHead,
  circumstances,
  link,
  shadowEvent,
  shadowSlot,
  signalEvent,
} from "../convex/signals/record/events";
import { standing } from "../convex/signals/statistics/shapes";
import { movement, publicAlertShape } from "../convex/whales/shapes";

/** Which shapes are stored, by the file of `convex/` that has their validators. */
export const STORED: Readonly<
  Record<
    string,
    {
      from: string;
      /** What several of the validators hold. */
      parts?: Record<string, GenericValidator>;
      validators: Record<string, GenericValidator>;
    }
  >
> = {
  "alerts/stored": {
    from: "alerts/language/conditions",
    validators: { vCondition: zodOutputToConvex(conditionShape) },
  },
  "evidence/stored": {
    from: "evidence/shapes",
    validators: { vCitedSource: zodOutputToConvex(citedSource) },
  },
  "market/stored": {
    from: "market/shapes",
    validators: {
      vRowSource: zodOutputToConvex(rowSource),
      vCoin: zodOutputToConvex(coin),
      vTokenFigures: zodOutputToConvex(tokenFigures),
      vMarketFigures: zodOutputToConvex(marketFigures),
      vMarketSource: zodOutputToConvex(marketSource),
      vMarketSnapshot: zodOutputToConvex(marketSnapshot),
    },
  },
  "ops/stored": {
    from: "ops/shapes",
    validators: { vOwnChecks: zodOutputToConvex(ownChecks) },
  },
  "payments/deposits/stored": {
    from: "payments/deposits/payloads",
    validators: { vDepositAnswer: zodOutputToConvex(answerShape.extend({ unsettled: z.boolean() })) },
  },
  "research/stored": {
    from: "research",
    parts: { vOpenShift: zodOutputToConvex(shiftStatus.shape.activeJobs.element) },
    validators: {
      vReportText: zodOutputToConvex(resultShape),
      vChange: zodOutputToConvex(change),
      vCheckedCounts: zodOutputToConvex(checkedCounts),
      vSentiment: zodOutputToConvex(sentimentShape),
      vOnchainOutput: zodOutputToConvex(onchainShape),
      vShiftStatus: zodOutputToConvex(shiftStatus),
    },
  },
  "signals/stored": {
    from: "signals",
    parts: {
      vLink: zodOutputToConvex(z.object(link)),
      vCircumstances: zodOutputToConvex(z.object(circumstances)),
      vShadowSlot: zodOutputToConvex(z.object(shadowSlot)),
    },
    validators: {
      vProposal: zodOutputToConvex(proposalShape),
      vStanding: zodOutputToConvex(standing),
      vSignalEvent: zodOutputToConvex(signalEvent),
      vShadowEvent: zodOutputToConvex(shadowEvent),
      vHead: zodOutputToConvex(chainHead.nullable()),
      vAnchor: zodOutputToConvex(anchorShape),
    },
  },
  // Apart: it is large, and no table has it.
  "signals/arms/stored": {
    from: "signals/arms/shapes",
    validators: { vLab: zodOutputToConvex(shadowLab) },
  },
  "social/stored": {
    from: "social/posts/prompts",
    validators: { vIntent: zodOutputToConvex(intentShape) },
  },
  "whales/stored": {
    from: "whales/shapes",
    parts: { vEnd: zodOutputToConvex(movement.shape.from) },
    validators: {
      vMovement: zodOutputToConvex(movement),
      vPublicAlert: zodOutputToConvex(publicAlertShape),
    },
  },
};
