/** What a signer may make of a request: it issues, denies or fails it, once and for all. */

import { type KeyObject, X509Certificate } from 'node:crypto'
import { PodCertificateRequest } from '#api/certificates/v1beta1/kinds.gen.ts'
import type { V1beta1PodCertificateRequest, V1beta1PodCertificateRequestStatus } from '#api/certificates/v1beta1/types.gen.ts'
import { requestedKey } from '#api/certificates/v1beta1/validate-key.ts'
import { type Check, omittedValue } from '#api/meta/check.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { byteLength } from '#api/meta/names.ts'
import { decodePem, decodePemBlocks } from '#wire/pem.ts'

const sameStatus = equalityOf(PodCertificateRequest).at('status')

const outcomes = ['Issued', 'Denied', 'Failed']
const maxChainBytes = 100 * 1024
const minuteMs = 60_000

type Request = V1beta1PodCertificateRequest
type Status = V1beta1PodCertificateRequestStatus

const outcomeOf = ({ status }: Request): string | undefined =>
  status?.conditions?.find(({ type, status: value }) => outcomes.includes(type) && value === 'True')?.type

/** `check` stands at the status; `now` is RFC 3339. */
export function validateIssue(
  next: Request,
  prev: Request,
  check: Check<V1beta1PodCertificateRequestStatus | undefined>,
  now: string,
): void {
  const status = next.status ?? {}
  const before = check.errors.length
  validateOutcome(check.at('conditions'))
  validateConditions(check.at('conditions'))
  if (check.errors.length > before) return
  if (outcomeOf(prev) !== undefined) {
    mustEqual(status, prev.status, 'immutable after PodCertificateRequest is issued, denied, or failed', check)
    return
  }
  switch (outcomeOf(next)) {
    case 'Issued':
      validateChain(check.or({}), next.spec, now)
      break
    case 'Denied':
    case 'Failed': {
      const { conditions = [] } = status
      mustEqual(
        status,
        { conditions },
        'non-condition status fields must be empty when denying or failing the PodCertificateRequest',
        check,
      )
      break
    }
    default:
      mustEqual(status, prev.status, 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"', check)
  }
}

function mustEqual(status: Status, wanted: Status | undefined, message: string, check: Check<unknown>): void {
  if (!sameStatus(status, wanted ?? {})) check.invalid(message, omittedValue)
}

function validateOutcome(check: Check<Status['conditions']>): void {
  let known = 0
  for (const [index, { type, status }] of (check.value ?? []).entries()) {
    // Upstream writes a dot before the index here.
    const item = check.dynamic(`[${index}]`)
    if (!outcomes.includes(type)) {
      item.at('type').notSupported(outcomes, type)
      continue
    }
    known++
    if (known > 1) item.at('type').invalid('There may be at most one condition with type "Issued", "Denied", or "Failed"', type)
    if (status !== 'True') item.at('status').notSupported(['True'], status)
  }
}

function validateChain(check: Check<Status>, spec: Request['spec'], now: string): void {
  const { certificateChain = '' } = check.value
  const chain = check.at('certificateChain')
  if (byteLength(certificateChain) > maxChainBytes) {
    chain.tooLong(maxChainBytes)
    return
  }
  const { block, rest } = decodePem(certificateChain)
  if (block === undefined) {
    chain.invalid('issued certificate chain must contain at least one certificate', certificateChain)
    return
  }
  if (block.type !== 'CERTIFICATE') {
    chain.invalid('issued certificate chain must consist entirely of CERTIFICATE PEM blocks', certificateChain)
    return
  }
  const leaf = certificateFrom(block.bytes)
  if (leaf === undefined) {
    chain.invalid('leaf certificate does not parse as valid X.509', certificateChain)
    return
  }
  let key: KeyObject
  try {
    key = requestedKey(spec)
  } catch {
    check.dynamic('stubPKCS10Request').invalid('must be a valid PKCS#10 CSR', omittedValue)
    return
  }
  if (!leaf.publicKey.equals(key)) {
    chain.invalid('leaf certificate was not issued to the requested public key', certificateChain)
    return
  }
  if (!validateTimes(check, leaf, spec.maxExpirationSeconds ?? 0, now)) return
  for (const { type, bytes } of decodePemBlocks(rest)) {
    if (type !== 'CERTIFICATE') {
      chain.invalid('issued certificate chain must consist entirely of CERTFICATE PEM blocks', certificateChain)
      return
    }
    if (certificateFrom(bytes) === undefined) {
      chain.invalid('intermediate certificate does not parse as valid X.509', certificateChain)
      return
    }
  }
}

function certificateFrom(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der)
  } catch {
    return undefined
  }
}

/** The status repeats what the certificate says; the first contradiction ends the search. */
function validateTimes(check: Check<Status>, leaf: X509Certificate, maxSeconds: number, now: string): boolean {
  const status = check.value
  const { notBefore, notAfter, beginRefreshAt } = status
  if (!notBefore) check.at('notBefore').required('must be present and consistent with the issued certificate')
  if (!notAfter) check.at('notAfter').required('must be present and consistent with the issued certificate')
  if (!beginRefreshAt) check.at('beginRefreshAt').required('must be present and in the range [notbefore+10min, notafter-10min]')
  if (!notBefore || !notAfter || !beginRefreshAt) return false
  const [startMs, endMs, refreshMs] = [Date.parse(notBefore), Date.parse(notAfter), Date.parse(beginRefreshAt)]
  const [leafStartMs, leafEndMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()]
  const lifetime = goDuration(leafEndMs - leafStartMs)
  const faults: [boolean, keyof Status, unknown, string][] = [
    [startMs !== leafStartMs, 'notBefore', notBefore, 'must be set to the NotBefore time encoded in the leaf certificate'],
    [
      Math.abs(startMs - Date.parse(now)) >= 5 * minuteMs,
      'notBefore',
      notBefore,
      "must be set to within 5 minutes of kube-apiserver's current time",
    ],
    [endMs !== leafEndMs, 'notAfter', notAfter, 'must be set to the NotAfter time encoded in the leaf certificate'],
    [leafEndMs - leafStartMs < 60 * minuteMs, 'certificateChain', lifetime, 'leaf certificate lifetime must be >= 1 hour'],
    [
      leafEndMs - leafStartMs > maxSeconds * 1000,
      'certificateChain',
      lifetime,
      `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${maxSeconds})`,
    ],
    [refreshMs < startMs + 10 * minuteMs, 'beginRefreshAt', beginRefreshAt, 'must be at least 10 minutes after status.notBefore'],
    [refreshMs > endMs - 10 * minuteMs, 'beginRefreshAt', beginRefreshAt, 'must be at least 10 minutes before status.notAfter'],
  ]
  const found = faults.find(([isWrong]) => isWrong)
  if (found === undefined) return true
  check.at(found[1]).invalid(found[3], found[2])
  return false
}

/** A duration in Go is a number of nanoseconds, and is quoted as one. */
const goDuration = (ms: number): bigint => BigInt(ms) * 1_000_000n
