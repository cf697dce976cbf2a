/** The key a pod's certificate is asked for, and the proof that the node holds it. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { V1beta1PodCertificateRequestSpec } from '#api/certificates/v1beta1/types.gen.ts'
import { type Check, omittedValue } from '#api/meta/check.ts'
import { type CertificateRequest, checkSignature, parseCertificateRequest } from '#wire/certificate-request.ts'

const maxBytes = 10 * 1024
const curves: Record<string, string> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }

type Spec = V1beta1PodCertificateRequestSpec

export function validateKey(check: Check<Spec>): void {
  const spec = check.value
  const { stubPKCS10Request, pkixPublicKey, proofOfPossession } = spec
  if (stubPKCS10Request && !pkixPublicKey && !proofOfPossession) validateRequest(check.at('stubPKCS10Request'))
  else if (!stubPKCS10Request && pkixPublicKey && proofOfPossession) validateProof(check, pkixPublicKey, proofOfPossession)
  else check.invalid('exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set', omittedValue)
}

/** The public key asked for; throws when the spec holds none. */
export function requestedKey({ stubPKCS10Request, pkixPublicKey }: Spec): KeyObject {
  if (stubPKCS10Request) return parseCertificateRequest(Buffer.from(stubPKCS10Request, 'base64')).publicKey
  return publicKeyFrom(pkixPublicKey ?? '')
}

const publicKeyFrom = (base64: string): KeyObject => createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })

const sizeOf = (base64: string): number => Buffer.byteLength(base64, 'base64')

function validateRequest(check: Check<string>): void {
  const base64 = check.value
  if (sizeOf(base64) > maxBytes) {
    check.tooLong(maxBytes)
    return
  }
  let request: CertificateRequest
  try {
    request = parseCertificateRequest(Buffer.from(base64, 'base64'))
  } catch {
    check.invalid('must be a valid PKCS#10 CSR', omittedValue)
    return
  }
  if (!isSupported(request.publicKey, check, omittedValue, 'P256, P384, or P521')) return
  try {
    checkSignature(request)
  } catch {
    check.invalid('invalid signature', omittedValue)
  }
}

function validateProof(check: Check<Spec>, pkix: string, proof: string): void {
  const spec = check.value
  const place = check.at('pkixPublicKey')
  if (sizeOf(pkix) > maxBytes) {
    place.tooLong(maxBytes)
    return
  }
  if (sizeOf(proof) > maxBytes) {
    check.at('proofOfPossession').tooLong(maxBytes)
    return
  }
  let key: KeyObject
  try {
    key = publicKeyFrom(pkix)
  } catch {
    place.invalid('must be a valid PKIX-serialized public key', pkix)
    return
  }
  if (!isSupported(key, place, pkix, 'P256 or P384')) return
  const isRsa = key.asymmetricKeyType === 'rsa'
  const signed = Buffer.from(spec.podUID ?? '')
  // RSA proofs are probabilistic signatures (PSS), whatever the length of their salt.
  const options = isRsa ? { key, padding: 6, saltLength: -2 } : key
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  if (!verify(hash, signed, options, Buffer.from(proof, 'base64'))) {
    check.at('proofOfPossession').invalid('could not verify proof-of-possession signature', omittedValue)
  }
}

function isSupported(key: KeyObject, check: Check<unknown>, shown: unknown, allowedCurves: string): boolean {
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return true
    case 'ec':
      if (curves[namedCurve] !== undefined) return true
      check.invalid(`elliptic public keys must use curve ${allowedCurves}`, `curve ${namedCurve}`)
      return false
    case 'rsa':
      if (modulusLength === 3072 || modulusLength === 4096) return true
      check.invalid('RSA keys must have modulus size 3072 or 4096', `${modulusLength}-bit modulus`)
      return false
    default:
      check.invalid('unknown public key type; supported types are Ed25519, ECDSA, and RSA', shown)
      return false
  }
}
