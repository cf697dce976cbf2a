import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { mayActForSigner } from '#apiserver/admission/certificates/signer-permission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { changesOwnershipOnly } from '#apiserver/admission/ownership-changes.ts'

type ClusterTrustBundle = { spec?: { signerName?: string } }

/** Who publishes the trust anchors of a signer must be allowed to speak for it. */
export function clusterTrustBundleAttest({ authorizer }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'ClusterTrustBundleAttest',
    operations: ['CREATE', 'UPDATE'],
    resources: ['clustertrustbundles.certificates.k8s.io/*'],
    async validate(request) {
      const { signerName = '' } = (request.object as ClusterTrustBundle).spec ?? {}
      if (signerName === '' || changesOwnershipOnly(request)) return
      if (await mayActForSigner(authorizer, request.user, 'attest', signerName)) return
      throw forbid(request, `user not permitted to attest for signerName "${signerName}"`)
    },
  }
}
