import { generateKeyPairSync } from 'node:crypto'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { waitFor } from '#client/retry.ts'
import type { SubjectAltNames } from '#wire/x509/certificate.ts'
import { encodeSigningRequest } from '#wire/x509/signing-request.ts'

export type IssuedCertificate = { certificatePem: string; privateKeyPem: string }

/** As long as upstream's kubelet waits. */
const patienceMs = 15 * 60_000

export type CertificateAsker = { nodeName: string; clock: Clock; signal?: AbortSignal }

/**
 * Asks the cluster for a client certificate of the node, with a new key, and waits until it is signed. Throws where it is refused.
 * The client speaks with a bootstrap token, or with the certificate that is to be replaced.
 */
export function requestNodeCertificate(client: Client, asker: CertificateAsker): Promise<IssuedCertificate> {
  return request(client, asker, { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usage: 'client auth', subjectAltNames: {} })
}

/** The same for what the node serves with, under these names; somebody has to approve of it. */
export function requestServingCertificate(
  client: Client,
  { subjectAltNames, ...asker }: CertificateAsker & { subjectAltNames: SubjectAltNames },
): Promise<IssuedCertificate> {
  return request(client, asker, { signerName: 'kubernetes.io/kubelet-serving', usage: 'server auth', subjectAltNames })
}

type Wanted = { signerName: string; usage: string; subjectAltNames: SubjectAltNames }

async function request(client: Client, { nodeName, clock, signal }: CertificateAsker, wanted: Wanted): Promise<IssuedCertificate> {
  const { signerName, usage, subjectAltNames } = wanted
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
  const made = await client.create(CertificateSigningRequest, {
    metadata: { generateName: usage === 'client auth' ? 'node-csr-' : 'csr-' },
    spec: {
      request: Buffer.from(encodeSigningRequest({ subject, subjectAltNames, privateKey })).toString('base64'),
      signerName,
      usages: ['digital signature', usage],
    },
  })
  const name = made.metadata.name ?? ''
  const isDecided = (request: V1CertificateSigningRequest | undefined) => request === undefined || outcomeOf(request) !== undefined
  const decided = await waitFor(client, CertificateSigningRequest, { name }, isDecided, {
    clock,
    timeoutMs: patienceMs,
    ...defined({ signal }),
  })
  const outcome = decided === undefined ? undefined : outcomeOf(decided)
  if (outcome === undefined || 'refusal' in outcome) {
    throw new Error(`certificate signing request ${name} was not signed: ${outcome?.refusal ?? 'it is gone'}`)
  }
  return { ...outcome, privateKeyPem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() }
}

function outcomeOf({ status }: V1CertificateSigningRequest): { certificatePem: string } | { refusal: string } | undefined {
  const refused = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed')
  if (refused !== undefined) return { refusal: `${refused.type}: ${refused.message ?? ''}` }
  return status?.certificate ? { certificatePem: Buffer.from(status.certificate, 'base64').toString('utf8') } : undefined
}
