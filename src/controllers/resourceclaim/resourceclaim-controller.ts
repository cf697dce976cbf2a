import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import { claimsOfPods } from '#controllers/resourceclaim/claims-of-pods.ts'
import { unusedClaims } from '#controllers/resourceclaim/unused-claims.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'

/** Claims to devices: made for pods by template, given back when their pods are done. */
export const resourceClaimController = whereServed(
  ResourceClaim,
  togetherAs({ name: 'resourceclaim-controller', alias: 'resource-claim-controller', serviceAccount: 'resource-claim-controller' }, [
    claimsOfPods,
    unusedClaims,
  ]),
)
