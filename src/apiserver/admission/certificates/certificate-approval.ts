import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { mayActForSigner } from '#apiserver/admission/certificates/signer-permission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { oldObjectOf } from '#apiserver/admission/object-of.ts'

/** Who approves or denies a request for a certificate must be allowed to for its signer. */
export function certificateApproval({ authorizer }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    operations: ['UPDATE'],
    resources: ['certificatesigningrequests.certificates.k8s.io/approval'],
    async validate(request) {
      // The stored signer counts: a new one in the same write would be put back.
      const { signerName = '' } = oldObjectOf(CertificateSigningRequest, request).spec ?? {}
      if (await mayActForSigner(authorizer, request.user, 'approve', signerName)) return
      throw forbid(request, `user not permitted to approve requests with signerName "${signerName}"`)
    },
  }
}
