import type { GenericValidator } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import * as z from "zod";
import { conditionShape } from "../convex/alerts/language/conditions";
import { citedSource } from "../convex/evidence/shapes";
import { change, checkedCounts } from "../convex/research/writing/checks";
import { onchainShape, sentimentShape } from "../convex/research/writing/prompts";
import { ownChecks } from "../convex/ops/shapes";
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
import { ownArm } from "../convex/signals/people/shapes";
import { proposalShape } from "../convex/signals/desk/prompts";
import {
  anchorShape,
  chainHead,
  circumstances,
  closedContent,
  comparedContent,
  ending,
  issue,
  issuedContent,
  levels,
  link,
  personEvent,
  promotedContent,
  shadowEvent,
  shadowSlot,
  signalEvent,
} from "../convex/signals/record/events";
import { standing } from "../convex/signals/statistics/shapes";
import { movement, publicAlertShape } from "../convex/whales/shapes";

/** Its type is nobody's to know: to work out those of all of them takes the compiler a tenth of its time. */
function validatorOf(shape: z.ZodType): GenericValidator {
  return zodOutputToConvex(shape);
}

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
  "alerts/validators": {
    from: "alerts/language/conditions",
    validators: { vCondition: validatorOf(conditionShape) },
  },
  "evidence/validators": {
    from: "evidence/shapes",
    validators: { vCitedSource: validatorOf(citedSource) },
  },
  "market/validators": {
    from: "market/shapes",
    validators: {
      vRowSource: validatorOf(rowSource),
      vCoin: validatorOf(coin),
      vTokenFigures: validatorOf(tokenFigures),
      vMarketFigures: validatorOf(marketFigures),
      vMarketSource: validatorOf(marketSource),
      vMarketSnapshot: validatorOf(marketSnapshot),
    },
  },
  "ops/validators": {
    from: "ops/shapes",
    validators: { vOwnChecks: validatorOf(ownChecks) },
  },
  "research/validators": {
    from: "research",
    parts: { vOpenShift: validatorOf(shiftStatus.shape.activeJobs.element) },
    validators: {
      vReportText: validatorOf(resultShape),
      vChange: validatorOf(change),
      vCheckedCounts: validatorOf(checkedCounts),
      vSentiment: validatorOf(sentimentShape),
      vOnchainOutput: validatorOf(onchainShape),
      vShiftStatus: validatorOf(shiftStatus),
    },
  },
  "signals/validators": {
    from: "signals",
    parts: {
      vLink: validatorOf(z.object(link)),
      vCircumstances: validatorOf(z.object(circumstances)),
      vShadowSlot: validatorOf(z.object(shadowSlot)),
      vLevels: validatorOf(z.object(levels)),
      vIssue: validatorOf(z.object(issue)),
      vEnding: validatorOf(z.object(ending)),
      vIssued: validatorOf(issuedContent),
      vClosed: validatorOf(closedContent),
      vCompared: validatorOf(comparedContent),
    },
    validators: {
      vProposal: validatorOf(proposalShape),
      vPromoted: validatorOf(promotedContent),
      vStanding: validatorOf(standing),
      vSignalEvent: validatorOf(signalEvent),
      vShadowEvent: validatorOf(shadowEvent),
      vPersonEvent: validatorOf(personEvent),
      vHead: validatorOf(chainHead.nullable()),
      vAnchor: validatorOf(anchorShape),
      vOwnArm: validatorOf(ownArm),
    },
  },
  "social/validators": {
    from: "social/posts/prompts",
    validators: { vIntent: validatorOf(intentShape) },
  },
  "whales/validators": {
    from: "whales/shapes",
    parts: { vEnd: validatorOf(movement.shape.from) },
    validators: {
      vMovement: validatorOf(movement),
      vPublicAlert: validatorOf(publicAlertShape),
    },
  },
};
