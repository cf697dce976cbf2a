import { SubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import { kubeletClientError } from '#controllers/certificates/kubelet-requests.ts'
import { isDecided, isIssued } from '#controllers/certificates/request-state.ts'
import { defineController, expectedFailure } from '#controllers/runtime/define-controller.ts'
import type { CertificateRequest } from '#wire/certificate-request.ts'

/** Approves the client certificates that kubelets ask for, if who asks is allowed to: for itself, or for any node. */
export const csrApprovingController = defineController({
  name: 'certificatesigningrequest-approving-controller',
  alias: 'csrapproving',
  queueName: 'certificate',
  serviceAccount: 'certificate-controller',
  for: CertificateSigningRequest,
  ignores: (request) => isIssued(request) || isDecided(request),

  async reconcile(request, { client }) {
    if (isIssued(request) || isDecided(request)) return
    const recognized = recognizedAs(request, parsed(request))
    for (const { subresource, message } of recognized) {
      if (!(await mayAskFor(subresource, request, client))) continue
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message }
      const status = { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] }
      await client.update(CertificateSigningRequest, { ...request, status }, { subresource: 'approval' })
      return
    }
    if (recognized.length === 0) return
    const tried = recognized.map(({ subresource }) => subresource).join(' ')
    // Somebody may yet be allowed to, and nobody tells when.
    throw expectedFailure(`recognized csr "${request.metadata.name}" as [${tried}] but subject access review was not approved`)
  },
})

type Recognition = { subresource: 'selfnodeclient' | 'nodeclient'; message: string }

const ownNode: Recognition = {
  subresource: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
}
const anyNode: Recognition = {
  subresource: 'nodeclient',
  message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
}

function recognizedAs({ spec }: V1CertificateSigningRequest, request: CertificateRequest): Recognition[] {
  if (spec.signerName !== 'kubernetes.io/kube-apiserver-client-kubelet') return []
  if (kubeletClientError(request, spec.usages ?? []) !== undefined) return []
  return spec.username === request.subject.commonName ? [ownNode, anyNode] : [anyNode]
}

function parsed({ metadata, spec }: V1CertificateSigningRequest): CertificateRequest {
  try {
    return parseSigningRequest(spec.request)
  } catch (error) {
    throw new Error(`unable to parse csr "${metadata.name}": ${errorMessage(error)}`)
  }
}

async function mayAskFor(subresource: string, { spec }: V1CertificateSigningRequest, client: Client): Promise<boolean> {
  const { username: user, uid, groups, extra } = spec
  const review = await client.create(SubjectAccessReview, {
    metadata: {},
    spec: {
      ...defined({ user, uid, groups, extra }),
      resourceAttributes: {
        group: 'certificates.k8s.io',
        resource: 'certificatesigningrequests',
        verb: 'create',
        subresource,
        version: '*',
      },
    },
  })
  return review.status?.allowed ?? false
}
