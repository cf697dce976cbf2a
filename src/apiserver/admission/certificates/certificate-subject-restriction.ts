import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { errorMessage } from '#base/error-message.ts'

const clientSigner = 'kubernetes.io/kube-apiserver-client'

/** Nobody gets a certificate of the group that may do everything. */
export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    operations: ['CREATE'],
    resources: ['certificatesigningrequests.certificates.k8s.io'],
    validate(request) {
      const { signerName, request: pem = '' } = objectOf(CertificateSigningRequest, request).spec ?? {}
      if (signerName !== clientSigner) return
      let groups: readonly string[]
      try {
        groups = parseSigningRequest(pem).subject.organization
      } catch (error) {
        throw forbid(request, `failed to parse CSR: ${errorMessage(error)}`)
      }
      if (groups.includes('system:masters')) throw forbid(request, `use of ${clientSigner} signer with system:masters group is not allowed`)
    },
  }
}
