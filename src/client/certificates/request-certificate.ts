import { generateKeyPairSync } from 'node:crypto'
import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { waitFor } from '#client/retry.ts'
import { encodeSigningRequest } from '#wire/x509/signing-request.ts'

export type IssuedCertificate = { certificatePem: string; privateKeyPem: string }

/** As long as upstream's kubelet waits. */
const patienceMs = 15 * 60_000

/**
 * Asks the cluster for a client certificate of the node, with a new key, and waits until it is signed. Throws where it is refused.
 * The client speaks with a bootstrap token, or with the certificate that is to be replaced.
 */
export async function requestNodeCertificate(
  client: Client,
  { nodeName, clock, signal }: { nodeName: string; clock: Clock; signal?: AbortSignal },
): Promise<IssuedCertificate> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
  const made = await client.create(CertificateSigningRequest, {
    metadata: { generateName: 'node-csr-' },
    spec: {
      request: Buffer.from(encodeSigningRequest({ subject, privateKey })).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
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
