import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { mayActForSigner } from '#apiserver/admission/certificates/signer-permission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

const sameConditions = equalityOf(CertificateSigningRequest).at('status').at('conditions')

/** Who puts a certificate into a request must be allowed to sign for its signer. */
export function certificateSigning({ authorizer }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    operations: ['UPDATE'],
    resources: ['certificatesigningrequests.certificates.k8s.io/status'],
    async validate(request) {
      const [next, prev] = [objectOf(CertificateSigningRequest, request), oldObjectOf(CertificateSigningRequest, request)]
      const isSigned = (next.status?.certificate ?? '') !== (prev.status?.certificate ?? '')
      if (!isSigned && sameConditions(next.status?.conditions, prev.status?.conditions)) return
      const { signerName = '' } = prev.spec ?? {}
      if (await mayActForSigner(authorizer, request.user, 'sign', signerName)) return
      throw forbid(request, `user not permitted to sign requests with signerName "${signerName}"`)
    },
  }
}
