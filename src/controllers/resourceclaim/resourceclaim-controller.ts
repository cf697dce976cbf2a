import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import { measureClaims } from '#controllers/resourceclaim/claim-metrics.ts'
import { claimsOfPods } from '#controllers/resourceclaim/claims-of-pods.ts'
import { unusedClaims } from '#controllers/resourceclaim/unused-claims.ts'
import { Cache } from '#controllers/runtime/cache.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'

const loops = togetherAs(
  { name: 'resourceclaim-controller', alias: 'resource-claim-controller', serviceAccount: 'resource-claim-controller' },
  [claimsOfPods, unusedClaims],
)
const measured: Controller = {
  ...loops,
  start(environment) {
    const cache = new Cache(environment.informers)
    measureClaims(environment.metrics.metrics, () => cache.list(ResourceClaim))
    return loops.start(environment)
  },
}

/** Claims to devices: made for pods by template, given back when their pods are done. */
export const resourceClaimController = whereServed(ResourceClaim, measured)
