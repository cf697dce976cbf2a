import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import type { AdmissionContext } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { errorMessage } from '#base/error-message.ts'

const agentSigners = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']

/** A kubelet asks for certificates in its own name only. */
export function certificateRules({ isEnabled }: AdmissionContext): NodeRules {
  const isLax = isEnabled('AllowInsecureKubeletCertificateSigningRequests')
  return {
    'certificatesigningrequests.certificates.k8s.io'(request, nodeName) {
      if (isLax || request.operation !== 'CREATE') return
      const { signerName = '', request: pem = '' } = objectOf(CertificateSigningRequest, request).spec ?? {}
      if (!agentSigners.includes(signerName)) return
      let commonName: string
      try {
        commonName = parseSigningRequest(pem).subject.commonName
      } catch (error) {
        throw forbid(request, `unable to parse csr: ${errorMessage(error)}`)
      }
      const own = `system:node:${nodeName}`
      if (commonName !== own) throw forbid(request, `can only create a node CSR with CN=${own}`)
    },
  }
}
